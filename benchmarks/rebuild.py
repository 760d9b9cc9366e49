"""The same table kept three ways: rebuilt, merged with a look-back, appended by Q^I.

A table holds a query's answers up to τ; then one hundredth of all messages is new.  What is timed
is the statement that brings the table up to date, on Spark and Delta, commit included:

- ``rebuild``: CREATE OR REPLACE TABLE AS the plain query
- ``look back``: MERGE of the last three days on a unique key, as dbt's incremental models do it
- ``append``: INSERT of Q^I over the window

``python -m benchmarks.rebuild [--rows 10000000]``
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from benchmarks import tables
from benchmarks.common import save
from benchmarks.figures._compare import as_a_run, report, with_ratios
from benchmarks.measure import measure, statement
from benchmarks.options import Options, main
from benchmarks.queries import BY_NAME, Query, instant, scan
from tapestry.instants import from_micros
from tapestry.sql import Window

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NEW = 0.01
DAYS = 3


@dataclass(frozen=True)
class ByHand:
    """What the author of an incremental model adds: a time to look back from, a key."""

    since: str  # expression over the query's tables
    key: tuple[str, ...]


BY_HAND = {
    "Q1": ByHand("ts", ("msgid",)),
    "Q3'": ByHand("m1.ts", ("msgid", "newsgroup", "reply")),
    "Q4'": ByHand("m.ts", ("msgid", "newsgroup")),
}


def run(spark: SparkSession, options: Options) -> None:
    """Three ways to keep a table up to date."""
    results: dict[str, Any] = {}
    data = _data(spark, options)
    if data is None:
        return
    for name, by_hand in BY_HAND.items():
        results[name] = keep(spark, data, BY_NAME[name], by_hand, options)
        report(data.name, name, results[name])
    kind = f"generated_{options.rows}" if options.rows else "real"
    save(f"rebuild_{kind}", {"data": data.facts(), "queries": results})


def _data(spark: SparkSession, options: Options) -> tables.Dataset | None:
    return tables.generated(spark, options.rows) if options.rows else tables.real(spark)


def keep(
    spark: SparkSession, data: tables.Dataset, query: Query, by_hand: ByHand, options: Options
) -> dict[str, Any]:
    """Time the three statements, each on a table that holds the answers up to τ."""
    tau = tables.taus(spark, data, (NEW,))[NEW]
    rewriting = query.rewriting(data.columns, data.lists)
    names = ", ".join(rewriting.columns)
    new = as_a_run(spark, rewriting, Window(tau, data.now), data)
    plain = query.text(data.relation, data.lists, data.now)
    with_since = plain.replace("\nFROM", f", {by_hand.since} AS since\nFROM", 1)
    if "\n" not in plain:
        with_since = plain.replace(" FROM", f", {by_hand.since} AS since FROM", 1)
    old = rewriting.incremental(Window(None, tau), scan(data.relation))
    _create(spark, "kept", f"SELECT {names}, _matched_at FROM ({old})")
    _create(spark, "merged", f"SELECT * FROM ({with_since}) WHERE since <= {instant(tau)}")

    def newest() -> datetime:
        # Asked before: Delta reads its target nowhere below another subquery of a MERGE (4.3).
        found = spark.sql("SELECT unix_micros(max(since)) FROM bench.merged").collect()
        return from_micros(found[0][0])

    variants = {
        "rebuild": statement(
            spark, f"CREATE OR REPLACE TABLE bench.rebuilt USING delta AS {plain}"
        ),
        "look back": statement(spark, lambda: merge(with_since, by_hand, newest())),
        "append": statement(spark, lambda: f"INSERT INTO bench.kept SELECT * FROM ({new()})"),
    }

    def restore() -> None:
        for name in ("kept", "merged"):
            spark.sql(f"RESTORE TABLE bench.{name} TO VERSION AS OF 0").collect()

    measured = measure(spark, variants, options.rounds, restore, options.budget)
    return with_ratios(measured, "rebuild")


def merge(with_since: str, by_hand: ByHand, newest: datetime) -> str:
    """The MERGE that dbt makes of ``incremental_strategy='merge'`` with a unique key."""
    keys = ", ".join(by_hand.key)
    same = " AND ".join(f"old.{key} = new.{key}" for key in by_hand.key)
    return f"""MERGE INTO bench.merged AS old USING (
  SELECT * EXCEPT (_place) FROM (
    SELECT *, row_number() OVER (PARTITION BY {keys} ORDER BY since) AS _place FROM ({with_since})
    WHERE since > {instant(newest)} - INTERVAL {DAYS} DAYS)
  WHERE _place = 1) AS new
ON {same}
WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"""


def _create(spark: SparkSession, name: str, select: str) -> None:
    spark.sql(f"DROP TABLE IF EXISTS bench.{name}")
    spark.sql(f"CREATE TABLE bench.{name} USING delta AS {select}").collect()


if __name__ == "__main__":
    main(run)
