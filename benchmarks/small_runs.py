"""What a warm run over a few new rows costs beside dbt's own `table` of the same query.

60,000 generated messages, 1,000 new ones a round. One process runs a project whose models are a
filter, a join and a NOT EXISTS, each as a `table`, as `continuous` with `verify: off` and with
`verify: sample`; a model's seconds are those that dbt reports, so the `table` of the same
invocation is the measure of the machine. A second kind of round stamps every new row before the end
of the window before, so that each of them is late. What an invocation does beside its models (its
log of runs) is measured as the wall time that its models do not account for.

Statements, Spark jobs and commits are counted over one invocation of a single model.

``python -m benchmarks.small_runs [--rounds 9] [--new 1000] [--threads 1]``
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from benchmarks.common import save, start_spark
from benchmarks.dbt_project import DbtProject, source_file, with_config
from benchmarks.options import options_of, parser
from benchmarks.tables import generated_file
from tapestry.instants import from_micros

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = 60_000
SCHEMA = "small_runs"
QUERIES = {
    "filter": "select msgid, author, subject from {m} where n_refs % 3 = 0",
    "join": "select m.msgid, m1.msgid as reply, m1.author from {m} m, {m} m1\n"
    "where m1.inreplyto = m.msgid",
    "not_exists": "select m.msgid, m.author from {m} m where m.ts < now() - interval 7 days\n"
    "  and not exists (select 1 from {m} m1 where m1.inreplyto = m.msgid)",
}
KINDS = {
    "table": {"materialized": "table"},
    "off": {"materialized": "continuous", "verify": "off"},
    "sample": {"materialized": "continuous", "verify": "sample"},
}


class Project(DbtProject):
    """A project of every query in every kind, and the source that grows."""

    def __init__(
        self, spark: SparkSession, threads: int, more: Mapping[str, str] | None = None
    ) -> None:
        relation = "{{ source('bboard', 'messages') }}"
        models = {
            f"{query}_{kind}": with_config(text.format(m=relation), **config)
            for query, text in QUERIES.items()
            for kind, config in KINDS.items()
        }
        files = source_file("bboard", SCHEMA, {"messages": {"loaded_at_field": "ts"}})
        super().__init__(spark, SCHEMA, {**models, **(more or {})}, files, threads)

    def seconds(self, at: datetime, *models: str) -> dict[str, float]:
        """One invocation as of an instant: seconds of each model, and what is left as `beside`."""
        ran, wall = self.run(at, models)
        found = {name: one.seconds for name, one in ran.items()}
        return {**found, "beside": wall - sum(found.values())}

    def grow(self, frame: Any, low: datetime, high: datetime, back: timedelta) -> None:
        """Append the generated rows of an interval, stamped so much earlier than they are."""
        literal = [f"TIMESTAMP '{one:%Y-%m-%d %H:%M:%S.%f}+00:00'" for one in (low, high)]
        frame.createOrReplaceTempView("generated")
        columns = ", ".join(
            f"ts - interval {int(back.total_seconds())} seconds AS ts" if name == "ts" else name
            for name in frame.columns
        )
        self.spark.sql(
            f"INSERT INTO {SCHEMA}.messages SELECT {columns} FROM generated"
            f" WHERE ts > {literal[0]} AND ts <= {literal[1]}"
        ).collect()


@contextmanager
def counting(project: Project) -> Iterator[dict[str, float]]:
    """Statements, Spark jobs and commits of what is done inside."""
    from dbt.adapters.tapestry.handle import EmbeddedConnection

    found: dict[str, float] = {"statements": 0}
    execute = EmbeddedConnection.execute

    def counted(self: Any, sql: str, bindings: Any = None) -> None:
        found["statements"] += 1
        if os.environ.get("SMALL_RUNS_SHOW"):
            print(" ".join(sql.split())[:200], flush=True)
        execute(self, sql, bindings)

    jobs, commits = jobs_of(project.spark), project.commits()
    EmbeddedConnection.execute = counted  # type: ignore[method-assign]
    try:
        yield found
    finally:
        EmbeddedConnection.execute = execute  # type: ignore[method-assign]
        found["jobs"] = jobs_of(project.spark) - jobs
        found["commits"] = project.commits() - commits


def jobs_of(spark: SparkSession) -> int:
    """So many jobs has Spark begun."""
    context = spark.sparkContext._jsc.sc()
    context.listenerBus().waitUntilEmpty()
    return int(context.dagScheduler().nextJobId())


def instants_of(frame: Any, rounds: int, new: int) -> list[datetime]:
    """Ends of windows: one after the first 60,000 rows, then one after each so many more."""
    ordered = frame.selectExpr("unix_micros(ts) AS us").orderBy("us").collect()
    places = [ROWS - 1 + new * number for number in range(rounds + 1)]
    return [from_micros(ordered[place][0]) for place in places]


def measure(spark: SparkSession, rounds: int, new: int, threads: int) -> dict[str, Any]:
    """Both kinds of rounds: medians of a model's seconds over those of its table."""
    project = Project(spark, threads)
    kinds = {"in time": timedelta(0), "late": timedelta(days=3)}
    warmup, counts = 2, len(QUERIES) * 2
    each = warmup + rounds + counts
    frame = spark.read.parquet(str(generated_file(ROWS + 2 * (each + 1) * new + 10_000)))
    instants = instants_of(frame, len(kinds) * each, new)
    schema = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in frame.schema)
    spark.sql(f"CREATE TABLE {SCHEMA}.messages ({schema}) USING delta")
    project.grow(frame, from_micros(0), instants[0], timedelta(0))
    project.run(instants[0])
    result: dict[str, Any] = {}
    place = 0
    for kind, back in kinds.items():
        found = []
        for number in range(warmup + rounds):
            project.grow(frame, instants[place], instants[place + 1], back)
            place += 1
            one = project.seconds(instants[place])
            print(kind, number, {name: round(took, 2) for name, took in one.items()}, flush=True)
            if number >= warmup:
                found.append(one)
        result[kind] = {"models": _medians(found), "counts": {}}
        for query in QUERIES:
            for level in ("off", "sample"):
                project.grow(frame, instants[place], instants[place + 1], back)
                place += 1
                with counting(project) as counts_of_run:
                    project.run(instants[place], [f"{query}_{level}"])
                result[kind]["counts"][f"{query}_{level}"] = counts_of_run
        for query in QUERIES:
            for level in ("off", "sample"):
                project.run(instants[place], [f"{query}_{level}"])
    return result


def _medians(found: list[dict[str, float]]) -> dict[str, dict[str, float]]:
    medians = {}
    for query in QUERIES:
        for level in KINDS:
            name = f"{query}_{level}"
            ratios = [one[name] / one[f"{query}_table"] for one in found]
            medians[name] = {
                "seconds": statistics.median(one[name] for one in found),
                "ratio": statistics.median(ratios),
            }
    medians["beside"] = {"seconds": statistics.median(one["beside"] for one in found)}
    return medians


def rows_of(result: dict[str, Any]) -> list[list[str]]:
    """The table of the page: one row a query and level of verification."""
    rows = []
    for query in QUERIES:
        for level in ("off", "sample"):
            name, row = f"{query}_{level}", [f"{query.replace('_', ' ')}, `{level}`"]
            for kind in ("in time", "late"):
                one, counts = result[kind]["models"][name], result[kind]["counts"][name]
                row += [f"{one['seconds']:.2f}", f"**{one['ratio']:.2f}**"]
                row += ["/".join(f"{counts[k]:.0f}" for k in ("statements", "jobs", "commits"))]
            rows.append(row)
    return rows


def listed(result: dict[str, Any]) -> tuple[list[str], list[list[str]], str]:
    """Head, rows and a sentence for the page."""
    at = result["measured"]
    said = (
        f"Medians of {result['rounds']} rounds with {result['new']} new rows each,"
        f" {result['threads']} thread; {at['at'][:10]}, {at['cores']} cores,"
        f" load average {at['load_average']}, commit {at['commit']}."
    )
    return result["head"], result["rows"], said


HEAD = ["a warm run", "seconds", ": `table`", "statements/jobs/commits"]
HEAD += ["all rows late: seconds", ": `table`", "statements/jobs/commits"]


def main() -> None:
    """Measure, show and keep it."""
    wanted = parser(__doc__)
    wanted.set_defaults(rounds=9)
    wanted.add_argument("--new", type=int, default=1_000)
    wanted.add_argument("--threads", type=int, default=1)
    arguments = wanted.parse_args()
    options_of(arguments)
    spark = start_spark()
    result = measure(spark, arguments.rounds, arguments.new, arguments.threads)
    for row in (HEAD, *rows_of(result)):
        print(" | ".join(row), flush=True)
    for kind in result:
        models = result[kind]["models"]
        tables = " ".join(f"{q} {models[f'{q}_table']['seconds']:.2f}" for q in QUERIES)
        print(f"{kind}: table {tables}, beside {models['beside']['seconds']:.2f}")
    facts = {"rounds": arguments.rounds, "new": arguments.new, "threads": arguments.threads}
    save("small_runs", {"head": HEAD, "rows": rows_of(result), **facts, "found": result})


if __name__ == "__main__":
    main()
