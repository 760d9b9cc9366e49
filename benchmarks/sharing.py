"""Many simple alerts over one stream: what a model of a hundred costs in a warm process.

A stream of a million old rows gets 10,000 new ones a tick. A hundred models take rows of great
amounts from it, each with conditions of its own; every fourth joins them to a small table. One
process runs all of them once a tick (`tapestry watch` does the same). Seconds a model are those of
an invocation divided by its models; statements, Spark jobs and commits are counted over all of it,
and the statements' time is told by what they do.

``python -m benchmarks.sharing [--models 100] [--ticks 5] [--rows 1000000] [--new 10000]``
"""

from __future__ import annotations

import statistics
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

from benchmarks.common import save, start_spark
from benchmarks.dbt_project import DbtProject, source_file, with_config
from benchmarks.options import options_of, parser
from benchmarks.small_runs import jobs_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "sharing"
BEGIN = datetime(2026, 1, 1, tzinfo=timezone.utc)
SELECTION = (
    "select tran_id, account, amount, ts from {{{{ source('s', 'stream') }}}}\n"
    "where amount > {least} and type_code = {kind}"
)
JOIN = (
    "select t.tran_id, t.amount, a.owner from {{{{ source('s', 'stream') }}}} t\n"
    "join {{{{ source('s', 'accounts') }}}} a on a.account = t.account\n"
    "where t.amount > {least} and t.type_code = {kind}"
)
KINDS = {
    "claims": "INSERT INTO `sharing`.`tapestry_state`",
    "answers": "INSERT INTO `sharing`.`alert",
    "logs": "INSERT INTO `sharing`.`tapestry_",
    "views": "CACHE ",
    "drops": "DROP VIEW",
    "descriptions": "DESCRIBE",
    "looks": "SHOW TABLES",
    "reads": "SELECT",
    "reads with": "WITH",
}
"""What statements do, by how they begin."""


@dataclass
class Seen:
    """The statements of an invocation: how many of each kind, and their seconds."""

    number: Counter[str] = field(default_factory=Counter)
    seconds: Counter[str] = field(default_factory=Counter)

    def note(self, sql: str, seconds: float) -> None:
        text = sql.strip().lstrip("(")
        if text.startswith("/*"):  # dbt's comment
            text = text.partition("*/")[2].strip()
        kind = next((k for k, begins in KINDS.items() if text.startswith(begins)), text[:40])
        self.number[kind] += 1
        self.seconds[kind] += seconds


class Stream:
    """The tables that all models read, and how many rows came into the first of them so far."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark, self.rows = spark, 0
        spark.sql(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")
        spark.sql(f"CREATE SCHEMA {SCHEMA}")
        spark.sql(
            f"CREATE TABLE {SCHEMA}.stream (tran_id bigint, type_code int, account bigint,"
            " amount bigint, note string, ts timestamp) USING delta"
        )
        spark.sql(
            f"CREATE TABLE {SCHEMA}.accounts USING delta AS"
            " SELECT id AS account, concat('owner ', id) AS owner FROM range(1000)"
        )

    def grow(self, rows: int) -> datetime:
        """Append so many rows, a thousand a second; the instant of the last."""
        first, self.rows = self.rows, self.rows + rows
        self.spark.sql(
            f"INSERT INTO {SCHEMA}.stream SELECT id, CAST(pmod(hash(id, 1), 10) AS INT),"
            " pmod(hash(id, 2), 1000), pmod(hash(id, 3), 1000000), uuid(),"
            f" timestamp_micros({int(BEGIN.timestamp() * 1e6)} + id * 1000)"
            f" FROM range({first}, {self.rows})"
        ).collect()
        return BEGIN + timedelta(milliseconds=self.rows - 1)


class Project(DbtProject):
    """Models over the stream, in a schema of that name, and a process that runs them."""

    def __init__(
        self,
        stream: Stream,
        name: str,
        models: Sequence[str],
        config: Mapping[str, Any],
        threads: int,
    ) -> None:
        self.models = len(models)
        texts = {
            f"alert{number}": with_config(text, materialized="continuous", **config)
            for number, text in enumerate(models)
        }
        tables = {
            "stream": {"loaded_at_field": "ts"},
            "accounts": {"meta": {"arrival": "static"}},
        }
        files = source_file("s", SCHEMA, tables)
        super().__init__(stream.spark, name, texts, files, threads, anew=name != SCHEMA)

    def seconds(self, at: datetime) -> float:
        """Seconds of one invocation."""
        return self.run(at)[1]

    def answers(self) -> int:
        """Rows of all models."""
        counts = (f"SELECT count(*) AS n FROM {self.name}.alert{i}" for i in range(self.models))
        rows = self.spark.sql(f"SELECT sum(n) FROM ({' UNION ALL '.join(counts)})").collect()
        return int(rows[0][0])


@contextmanager
def watching() -> Iterator[Seen]:
    """The statements of what is done inside."""
    from dbt.adapters.tapestry.handle import EmbeddedConnection

    seen, execute = Seen(), EmbeddedConnection.execute

    def noted(self: Any, sql: str, bindings: Any = None) -> None:
        began = time.perf_counter()
        execute(self, sql, bindings)
        seen.note(sql, time.perf_counter() - began)

    EmbeddedConnection.execute = noted  # type: ignore[method-assign]
    try:
        yield seen
    finally:
        EmbeddedConnection.execute = execute  # type: ignore[method-assign]


def alerts(models: int, least: int) -> list[str]:
    """Models with conditions of their own; every fourth is a join."""
    return [
        (JOIN if i % 4 == 3 else SELECTION).format(least=least + i % 10, kind=i % 10)
        for i in range(models)
    ]


def measure(stream: Stream, project: Project, rows: int, new: int, ticks: int) -> dict[str, Any]:
    """A first run, then ticks; the first two of them warm the process up."""
    print("first", round(project.seconds(stream.grow(rows)), 1), flush=True)
    found = []
    for number in range(ticks + 2):
        at = stream.grow(new)
        jobs, commits = jobs_of(project.spark), project.commits()
        with watching() as seen:
            seconds = project.seconds(at)
        one = {
            "seconds": seconds / project.models,
            "statements": sum(seen.number.values()) / project.models,
            "jobs": (jobs_of(project.spark) - jobs) / project.models,
            "commits": (project.commits() - commits) / project.models,
        }
        print(number, {name: round(value, 3) for name, value in one.items()}, flush=True)
        for kind, total in seen.seconds.most_common():
            print(f"    {kind}: {seen.number[kind]} in {total:.1f} s", flush=True)
        if number >= 2:
            found.append(one)
    median = {name: statistics.median(one[name] for one in found) for name in found[0]}
    return {**median, "answers": project.answers()}


HEAD = ["models", "verify", "threads", "seconds a model", "statements", "jobs", "commits"]


def main() -> None:
    """Measure, show and keep it."""
    wanted = parser(__doc__)
    wanted.set_defaults(rows=1_000_000)
    wanted.add_argument("--models", type=int, default=100)
    wanted.add_argument("--ticks", type=int, default=5)
    wanted.add_argument("--new", type=int, default=10_000)
    wanted.add_argument("--threads", type=int, default=2)
    wanted.add_argument("--verify", default="off")
    wanted.add_argument("--least", type=int, default=999_900, help="greater amounts are alerts")
    arguments = wanted.parse_args()
    options = options_of(arguments)
    stream, models = Stream(start_spark()), alerts(arguments.models, arguments.least)
    project = Project(stream, SCHEMA, models, {"verify": arguments.verify}, arguments.threads)
    found = measure(stream, project, options.rows, arguments.new, arguments.ticks)
    row = [str(arguments.models), arguments.verify, str(arguments.threads)]
    row += [f"{found['seconds']:.2f}", *(f"{found[k]:.1f}" for k in HEAD[4:])]
    print(" | ".join(HEAD), " | ".join(row), f"{found['answers']} answers", sep="\n")
    save("sharing", {"head": HEAD, "rows": [row], "found": found})


if __name__ == "__main__":
    main()
