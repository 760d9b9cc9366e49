"""What a warm process costs: `dbt run` again and again in one process, with and without new rows.

A project of 10 and of 100 continuous models over one table of generated messages is run by one
``dbtRunner``: first from nothing, then with nothing new, then after new messages.  The hundred are
not verified, which changes nothing about a run with nothing new but how long one waits for it.
Spark's own part of a run is the time during which at least one of its SQL executions was under way;
what is left is dbt's and this adapter's.  At last one model is run hundreds of times with nothing
new, and the memory of both processes is looked at.

``python -m benchmarks.warm [--rows 100000] [--runs 500]``
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.common import save, start_spark
from benchmarks.dbt_project import DbtProject, source_file, with_config
from benchmarks.measure import _items, cpu_seconds
from benchmarks.options import options_of, parser
from benchmarks.tables import generated_file
from tapestry.instants import from_micros

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "warm"
TEMPLATES = (
    "select msgid, author, subject from {m} where n_refs % 100 = {i}",
    "select m.msgid, m1.msgid as reply from {m} m, {m} m1\n"
    "where m1.inreplyto = m.msgid and m1.n_refs % 100 = {i}",
    "select m.msgid, m.author from {m} m where m.ts < now() - interval 28 days\n"
    "  and m.n_refs % 100 = {i} and not exists (\n"
    "    select 1 from {m} m1 where m1.inreplyto = m.msgid)",
)
"""A selection, a join, time with NOT EXISTS: the models take them in turn."""


class Project(DbtProject):
    """A project of so many models, which dbt itself runs."""

    def __init__(self, spark: SparkSession, models: int, verify: str = "sample") -> None:
        relation = "{{ source('bboard', 'messages') }}"
        texts = {
            f"m{i}": with_config(
                TEMPLATES[i % len(TEMPLATES)].format(m=relation, i=i),
                materialized="continuous",
                verify=verify,
            )
            for i in range(models)
        }
        name = f"{SCHEMA}_{models}"
        files = source_file("bboard", name, {"messages": {"loaded_at_field": "ts"}})
        super().__init__(spark, name, texts, files, threads=2)

    def costs(self, at: datetime) -> dict[str, float]:
        """One invocation as of an instant: seconds, Spark's part of them, processor seconds."""
        from dbt.cli.main import dbtRunner

        os.environ["TAPESTRY_AS_OF"] = at.isoformat()
        folder = str(self.folder)
        arguments = ["--quiet", "run", "--project-dir", folder, "--profiles-dir", folder]
        wall, began, cpu = time.time(), time.perf_counter(), cpu_seconds(self.spark)
        result = dbtRunner().invoke(arguments)
        seconds, cpu = time.perf_counter() - began, cpu_seconds(self.spark) - cpu
        if not result.success:
            raise SystemExit(f"dbt run failed: {result.exception or result.result}")
        return {"seconds": seconds, "spark": spark_seconds(self.spark, wall), "cpu": cpu}


def spark_seconds(spark: SparkSession, since: float) -> float:
    """Seconds since then in which at least one SQL execution was under way."""
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    store = spark._jsparkSession.sharedState().statusStore()  # type: ignore[operator]
    spans = sorted(_spans(store, since))
    total = end = 0.0
    for begin, finish in spans:
        total += max(0.0, finish - max(begin, end))
        end = max(end, finish)
    return total


def _spans(store: Any, since: float) -> Iterator[tuple[float, float]]:
    for one in _items(store.executionsList()):
        begin = one.submissionTime() / 1000
        if begin >= since and one.completionTime().isDefined():
            yield begin, one.completionTime().get().getTime() / 1000


def memory(spark: SparkSession) -> tuple[float, float]:
    """MiB that the JVM and this process hold (resident)."""
    found = []
    for process in (spark.sparkContext._gateway.proc.pid, os.getpid()):
        text = Path(f"/proc/{process}/status").read_text()
        line = next(line for line in text.splitlines() if line.startswith("VmRSS"))
        found.append(int(line.split()[1]) / 1024)
    return found[0], found[1]


def one_size(
    spark: SparkSession, models: int, rows: int, repeat: int, verify: str = "sample"
) -> list[dict[str, Any]]:
    """First run, runs with nothing new, runs with new messages: medians, a model."""
    project = Project(spark, models, verify)
    frame = spark.read.parquet(str(generated_file(rows)))
    table = f"{project.name}.messages"
    cuts = frame.selectExpr("percentile_approx(unix_micros(ts), array(.9, .92, .94, .96, .98, 1))")
    instants = [from_micros(micros) for micros in cuts.collect()[0][0]]
    schema = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in frame.schema)
    spark.sql(f"CREATE TABLE {table} ({schema}) USING delta")
    since = from_micros(0)
    kinds: dict[str, list[dict[str, float]]] = {
        kind: [] for kind in ("first", "new rows", "nothing new, first", "nothing new")
    }
    for number, until in enumerate(instants):
        frame.createOrReplaceTempView("generated")
        literal = [f"TIMESTAMP '{one:%Y-%m-%d %H:%M:%S.%f}+00:00'" for one in (since, until)]
        spark.sql(
            f"INSERT INTO {table} SELECT * FROM generated"
            f" WHERE ts > {literal[0]} AND ts <= {literal[1]}"
        ).collect()
        kinds["new rows" if number else "first"].append(project.costs(until))
        # The first asks when time alone will bring something, where a query reads the clock.
        kinds["nothing new, first"].append(project.costs(until + timedelta(0, 1)))
        kinds["nothing new"] += [project.costs(until + timedelta(0, 2 + i)) for i in range(repeat)]
        since = until
        if number >= repeat:
            break
    return [_summary(models, kind, found) for kind, found in kinds.items()]


def _summary(models: int, kind: str, found: list[dict[str, float]]) -> dict[str, Any]:
    median = {key: statistics.median(one[key] for one in found) for key in found[0]}
    own = median["seconds"] - median["spark"]
    values = [f"{median['seconds']:.2f}", f"{median['spark']:.2f}"]
    values += [f"{1000 * own / models:.0f}", f"{1000 * median['cpu'] / models:.0f}"]
    row = {"name": f"{models} models, {kind}", "values": values, "runs": len(found)}
    print(row, flush=True)
    return row


def endure(spark: SparkSession, runs: int, every: int = 25) -> list[tuple[int, float, float]]:
    """The memory of both processes over many runs of a project with nothing new."""
    project = Project(spark, 1)
    table = f"{project.name}.messages"
    spark.read.parquet(str(generated_file(20_000))).write.saveAsTable(table)
    at = datetime(2000, 1, 1, tzinfo=timezone.utc)
    seen = []
    for number in range(1, runs + 1):
        project.costs(at + timedelta(minutes=number))
        if number % every == 0 or number == 1:
            seen.append((number, *memory(spark)))
            print(f"{number} runs: JVM {seen[-1][1]:.0f} MiB, Python {seen[-1][2]:.0f} MiB")
    return seen


def main() -> None:
    """Run all of it."""
    wanted = parser(__doc__)
    wanted.set_defaults(rows=100_000)
    wanted.add_argument("--runs", type=int, default=500)
    wanted.add_argument("--repeat", type=int, default=3)
    arguments = wanted.parse_args()
    options = options_of(arguments)
    spark = start_spark()
    rows: list[dict[str, Any]] = []
    for models, verify in ((10, "sample"), (100, "off")):
        rows += one_size(spark, models, options.rows, arguments.repeat, verify)
    seen = endure(spark, arguments.runs)
    head = ["", "seconds a run", "of these Spark", "ms a model besides", "cpu ms a model"]
    save("warm", {"head": head, "rows": rows, "memory": seen, "said": said(seen)})


def said(seen: list[tuple[int, float, float]]) -> str:
    """The memory of both processes in a sentence."""
    settled = next((one for one in seen if one[0] >= 50), seen[0])
    last = seen[-1]
    return (
        f"Resident memory after {settled[0]} and after {last[0]} runs with nothing new: "
        f"JVM {settled[1]:.0f} and {last[1]:.0f} MiB, "
        f"Python {settled[2]:.0f} and {last[2]:.0f} MiB."
    )


if __name__ == "__main__":
    main()
