"""What checking a run costs: `verify: sample`, and twenty expectations, beside the bare run.

Each model is kept three times (``off``, ``sample``, ``expectations``: nothing verified, twenty
conditions) over one table of generated messages, which then gets one hundredth of its rows in one
commit, round after round; each round is one run of each of the three, in turn, by layer 2 as a warm
process has it: plan, claim, stage, check, commit.  ``first`` is the same with 91 % of the rows new.

``python -m benchmarks.checks [--rows 10000000]``
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from benchmarks.common import save
from benchmarks.figures._compare import report, with_ratios
from benchmarks.measure import PlainSession, Reading, summary, timed_and_read
from benchmarks.options import Options, main
from benchmarks.queries import BY_NAME, Query, instant
from benchmarks.tables import Dataset, generated, taus, write
from tapestry.runs.context.clock import Clock
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.context.recall import Recall
from tapestry.runs.kinds.registry import execute, parse_config, prepare
from tapestry.runs.model.model import Model

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "checks"
SOURCE = f"{SCHEMA}.messages"
WARMING, ROUNDS = 8, 9
"""Rounds that warm the process up (Java compiles what it runs often), and those that count."""
STEP = 0.01
NAMES = ("Q1", "Q2", "Q4")
"""Strategies 1, 1 and 2; what the others assume of replies does not hold for these messages."""
EXPECTATIONS = [{"name": f"e{n}", "expect": f"length(msgid) > {n}"} for n in range(20)]
VARIANTS: dict[str, dict[str, Any]] = {
    "off": {"verify": "off"},
    "sample": {"verify": "sample"},
    "expectations": {"verify": "off", "expectations": EXPECTATIONS},
}


@dataclass
class Kept:
    """One model in one variant, and what this process remembers of its runs."""

    query: Query
    variant: str
    data: Dataset
    recall: Recall = field(default_factory=Recall)

    def run(self, spark: SparkSession, t: datetime) -> None:
        """One run to t, alone in its invocation."""
        name = f"{self.query.name.replace(chr(39), 'p').lower()}_{self.variant}"
        config = {"assume": list(self.query.assume), **VARIANTS[self.variant]}
        model = Model(
            name=name,
            relation=f"{SCHEMA}.{name}",
            sql=self.query.text(SOURCE, self.data.lists),
            config=parse_config("continuous", config),
            arrivals={SOURCE: "ts"},
            file=f"models/{name}.sql",
        )
        session = PlainSession(spark)
        invocation = Invocation(
            "benchmark", Clock(t, True), f"{SCHEMA}.tapestry_state", "UTC", self.recall
        )
        execute(session, prepare(session, model, invocation), invocation)

    def timed(self, spark: SparkSession, t: datetime, into: Rounds) -> None:
        """One run to t, and what it took."""
        taken = timed_and_read(spark, lambda: self.run(spark, t))
        print(self.query.name, self.variant, *taken[:2], flush=True)
        into[self.query.name][self.variant].append(taken)


Rounds = dict[str, dict[str, list[tuple[float, float, Reading]]]]
"""Query -> variant -> what each of its runs took and read."""


def run(spark: SparkSession, options: Options) -> None:
    """The three variants of each query, round after round."""
    data = generated(spark, options.rows)
    queries = [BY_NAME[name] for name in options.queries or NAMES]
    shares = tuple(round(STEP * left, 4) for left in range(WARMING + ROUNDS, -1, -1))
    instants = list(taus(spark, data, shares).values())
    _source(spark, data, instants[0])
    models = [Kept(query, variant, data) for query in queries for variant in VARIANTS]
    first, steps = _empty(queries), _empty(queries)
    for model in models:
        model.timed(spark, instants[0], first)
    for number, (since, until) in enumerate(pairwise(instants)):
        spark.sql(
            f"INSERT INTO {SOURCE} SELECT * FROM {data.relation}"
            f" WHERE ts > {instant(since)} AND ts <= {instant(until)}"
        ).collect()
        for model in models[number % 3 :] + models[: number % 3]:
            model.timed(spark, until, steps if number >= WARMING else _empty(queries))
    found = {query.name: _measured(query.name, steps, first) for query in queries}
    for name, one in found.items():
        report(data.name, name, {variant: one[variant] for variant in VARIANTS})
    save(f"checks_generated_{options.rows}", {"data": data.facts(), "queries": found})


def _empty(queries: list[Query]) -> Rounds:
    return {query.name: {variant: [] for variant in VARIANTS} for query in queries}


def _measured(name: str, steps: Rounds, first: Rounds) -> dict[str, Any]:
    measured = with_ratios({v: summary(rounds) for v, rounds in steps[name].items()}, "off")
    return measured | {f"first, {v}": summary(rounds) for v, rounds in first[name].items()}


def _source(spark: SparkSession, data: Dataset, until: datetime) -> None:
    """The table without its newest rows, in order of arrival, with row tracking."""
    spark.sql(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")
    spark.sql(f"CREATE SCHEMA {SCHEMA}")
    frame = spark.sql(f"SELECT * FROM {data.relation} WHERE ts <= {instant(until)}")
    with_ids = "spark.databricks.delta.properties.defaults.enableRowTracking"
    spark.conf.set(with_ids, "true")
    write(spark, frame, SOURCE, "arrival", data.files)
    spark.conf.unset(with_ids)


if __name__ == "__main__":
    main(run)
