"""The trading application on Delta: what a rule's run, a claim and a batch cost there.

    commits   1,000 commits of one row each, and do_comps over them; jobs at 10, 100 and 1,000
    log       60,000 transactions of a log of changes, and do_comps over them
    counts    the batches that close by the clock, of each unit and delay, beside the simulator's
    actions   unique, and comp one by one: 50 batches each; comp together: all 400 at once

``python -m benchmarks.trading.on_delta [--scale 1] [commits] [log]``
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.common import bench_root, load, save, start_spark
from benchmarks.dbt_project import DbtProject, source_file, with_config
from benchmarks.figures._strip import facts, plan_of
from benchmarks.small_runs import jobs_of
from benchmarks.trading.one_row_commits import OneRowCommits
from benchmarks.trading.units import CONFIGS, DELAYS, UNITS, batches_of, comps_bound
from tapestry.demo.trading.market import Market, make_market
from tapestry.demo.trading.seeds import dollars, seed_rows, symbol
from tapestry.instants import now_utc
from tapestry.runs.kinds.action.waiting import WaitingFirings
from tapestry.runs.protocol import crash

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RESULT = "strip_delta"
SCHEMA = "trading"
OPENING = datetime(2026, 1, 5, 14, 30, tzinfo=timezone.utc)
"""The simulated clock of the log begins."""
SAMPLE, LOADS = 50, 60
PRICE = pa.decimal128(10, 3)
LOG = {"changes": "log", "transaction": "tx", "commit_time": "at", "order": "tx", "op": "op",
       "before": "old_", "begin": "0"}  # fmt: skip
BODY = """
{{{{ triggered_by(source('market', '{table}')) }}}}
select comps_list.comp, comps_list.symbol, weight, old.price as old_price, new.price as new_price
from {{{{ source('market', 'comps_list') }}}} as comps_list, new, old
where comps_list.symbol = new.symbol and new.execute_order = old.execute_order
"""
ACTION = """
{{{{ triggered_by(ref('do_comps')) }}}}
merge into {{{{ source('market', '{target}') }}}} as t
using (select comp, sum((new_price - old_price) * weight) as diff from matches group by comp) as d
on t.comp = d.comp
when matched then update set price = t.price + d.diff
"""
CLOCK = {"materialized": "action", "batching": "by_clock", "max_batches": SAMPLE}
ACTIONS: dict[str, dict[str, Any]] = {
    "unique": {**CLOCK, "unique": True},
    "singly": {**CLOCK, "unique_on": ["comp"], "together": "false"},
    "together": {"materialized": "action", "unique_on": ["comp"], "max_batches": 400},
}


class TradingProject(DbtProject):
    """Tables of a market, a rule over one of them, and actions."""

    def __init__(self, spark: SparkSession, market: Market, rule: dict[str, Any], table: str):
        self.market = market
        targets = [f"prices_{name}" for name in ACTIONS]
        config = {"materialized": "rule", "when": "updated price", "key": "symbol", **rule}
        models = {"do_comps": with_config(BODY.format(table=table), **config)}
        for name, action in ACTIONS.items():
            models[name] = with_config(ACTION.format(target=f"prices_{name}"), **action)
        tables: dict[str, Any] = {name: {} for name in (table, "comps_list", *targets)}
        files = source_file("market", SCHEMA, tables)
        super().__init__(spark, SCHEMA, models, files)
        rows = seed_rows(market)["comps_list"]
        comp, stock, weight = zip(*rows, strict=True)
        made = pa.table({"comp": comp, "symbol": stock, "weight": pa.array(weight, PRICE)})
        self.make("comps_list", made)
        for target in targets:
            spark.sql(
                f"CREATE TABLE {SCHEMA}.{target} USING delta AS SELECT DISTINCT comp,"
                f" CAST(0 AS DECIMAL(20, 5)) AS price FROM {SCHEMA}.comps_list"
            )

    def make(self, name: str, rows: pa.Table) -> None:
        """A table with some rows."""
        path = bench_root() / f"{name}.parquet"
        pq.write_table(rows, path)
        self.spark.read.parquet(str(path)).createOrReplaceTempView("made")
        self.spark.sql(f"CREATE TABLE {SCHEMA}.{name} USING delta AS SELECT * FROM made")

    def load_log(self, loads: int) -> None:
        """The changes of the market as rows of a log, in some commits."""
        market = self.market
        made = pa.table({
            "tx": np.arange(len(market.at)),
            "at": pa.array(market.at + round(OPENING.timestamp() * 1e6), pa.timestamp("us", "UTC")),
            "op": ["update"] * len(market.at),
            "symbol": [symbol(one) for one in market.stock],
            "price": pa.array([dollars(one) for one in market.new], PRICE),
            "old_price": pa.array([dollars(one) for one in market.old], PRICE),
        })  # fmt: skip
        self.make("changes", made.slice(0, 0))
        self.spark.read.parquet(self._written(made)).createOrReplaceTempView("made")
        each = -(-len(market.at) // loads)
        for begin in range(0, len(market.at), each):
            self.spark.sql(
                f"INSERT INTO {SCHEMA}.changes SELECT * FROM made"
                f" WHERE tx >= {begin:d} AND tx < {begin + each:d}"
            )

    def _written(self, rows: pa.Table) -> str:
        path = bench_root() / "log.parquet"
        pq.write_table(rows, path)
        return str(path)

    def seconds(self, model: str) -> tuple[float, str]:
        """One run of a model: its seconds, and what it said."""
        ran, _ = self.run(now_utc(), [model])
        return ran[model].seconds, ran[model].message


def over_commits(spark: SparkSession, market: Market) -> dict[str, Any]:
    """Seconds and Spark jobs of do_comps, by the number of commits of one row."""
    project = TradingProject(spark, market, {}, "stocks")
    commits = OneRowCommits.made(spark, f"{SCHEMA}.stocks", seed_rows(market)["stocks"][:100])
    prices = dict(seed_rows(market)["stocks"][:100])
    names, place = list(prices), 0
    project.seconds("do_comps")
    found: dict[str, Any] = {}
    for number, count in enumerate((10, 10, 10, 100, 1_000)):  # the first two warm up
        for _ in range(count):
            name = names[place % len(names)]
            prices[name] += dollars(1)
            commits.update(name, prices[name])
            place += 1
        commits.checkpoint()
        jobs = jobs_of(spark)
        seconds, said = project.seconds("do_comps")
        one = {"seconds": round(seconds, 2), "jobs": jobs_of(spark) - jobs, "said": said}
        print("commits", count, one, flush=True)
        if number > 1:
            found[str(count)] = one
    return found


def over_log(spark: SparkSession, market: Market, delay: float = 3.0) -> dict[str, Any]:
    """do_comps over a log, the counts of all units, and what the actions take."""
    rule = {**LOG, "after": f"{delay:g} seconds", "states": {"comps_list": "run"}}
    project = TradingProject(spark, market, rule, "changes")
    project.load_log(LOADS)
    began = jobs_of(spark)
    seconds, said = project.seconds("do_comps")
    found: dict[str, Any] = {"seconds": round(seconds, 2), "jobs": jobs_of(spark) - began}
    print("log", found, said, flush=True)
    with counted_batches(found):
        project.seconds("unique")
    found["simulated"] = simulated(market)
    found["equal"] = found["counts"] == found["simulated"]
    print("counts are the simulator's:", found["equal"], flush=True)
    found["actions"] = {name: timed(project, name) for name in ACTIONS}
    return found


@contextmanager
def counted_batches(found: dict[str, Any]) -> Iterator[None]:
    """While that runs, an action that looks for what is due counts the batches of all units."""
    due = WaitingFirings.due

    def counting(waiting: WaitingFirings, *given: Any) -> Any:
        found.setdefault("counts", counts_of(waiting))
        return due(waiting, *given)

    WaitingFirings.due = counting  # type: ignore[method-assign]
    try:
        yield
    finally:
        WaitingFirings.due = due  # type: ignore[method-assign]


def counts_of(waiting: WaitingFirings) -> dict[str, dict[str, list[int]]]:
    """Unit -> delay -> batches, and bound rows in all of them, as the product forms them."""
    found: dict[str, dict[str, list[int]]] = {}
    for unit in UNITS:
        found[unit] = {}
        for delay in (0.0,) if unit == "none" else DELAYS:
            after = timedelta(seconds=delay)
            asked = replace(
                waiting,
                config=replace(waiting.config, **CONFIGS[unit]),
                rules=[replace(rule, after=after) for rule in waiting.rules],
            )
            ((batches, rows),) = asked.session.rows(
                f"{asked.done()}SELECT count(*), sum(rows) FROM ({asked.formed()})"
            )
            found[unit][f"{delay:g}"] = [int(batches), int(rows)]
            print("counted", unit, delay, batches, rows, flush=True)
    return found


def simulated(market: Market) -> dict[str, dict[str, list[int]]]:
    """The same by the simulator."""
    rows = comps_bound(market)
    return {
        unit: {
            f"{delay:g}": [len(batches_of(market, rows, unit, delay)), len(rows)]
            for delay in ((0.0,) if unit == "none" else DELAYS)
        }
        for unit in UNITS
    }


def timed(project: TradingProject, name: str) -> dict[str, Any]:
    """One run of an action: seconds until it has claimed, has executed, has noted its batches."""
    marks: dict[str, float] = {}
    point = crash.point

    def marked(at: str) -> None:
        marks.setdefault(at, time.perf_counter())
        point(at)

    crash.point = marked
    try:
        began = time.perf_counter()
        seconds, said = project.seconds(name)
    finally:
        crash.point = point
    found = {at: round(one - began, 2) for at, one in marks.items() if at.startswith("batches_")}
    print(name, seconds, said, found, flush=True)
    return {"seconds": round(seconds, 2), "said": said, **found}


def main() -> None:
    """Measure, and keep what was found beside what was kept before."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="a part of the paper's sizes")
    parser.add_argument("parts", nargs="*", choices=["commits", "log", []])
    arguments = parser.parse_args()
    market = make_market(plan_of(arguments.scale))
    spark, kept = start_spark(), load(RESULT) or {}
    kept.pop("measured", None)
    for part, of in (("commits", over_commits), ("log", over_log)):
        if not arguments.parts or part in arguments.parts:
            kept[part] = {"plan": facts(market.plan), **of(spark, market)}
            save(RESULT, kept)


if __name__ == "__main__":
    main()
