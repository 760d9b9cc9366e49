"""How many spoilt runs a sample of an aggregate's verification finds: by instants, and by buckets.

    python -m benchmarks.found_by_samples [--trials 200] [--seed 1]

A model counts rows by group. One run's new answers are computed by the definition, a part of them
is spoilt (removed, moved, with another value, made up), and a sample looks at them: over all rows
at a few instants, as samples of queries without a key do, and over one bucket of the groups at
sixteen times as many. Both read about as many pairs of a row and an instant; DuckDB evaluates them.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from datetime import datetime, timedelta, timezone
from typing import Any
from unittest import mock

import duckdb

from tapestry.sql import Catalog, Column, Scan, Source
from tapestry.verification.check import Check, Sample
from tapestry.verification.chosen_rows import Chosen, RunRows
from tapestry.verification.compare import Comparison
from tapestry.verification.definition import Definition

BASE = datetime(2026, 1, 1, tzinfo=timezone.utc)
SECOND = timedelta(seconds=1)
CATALOG = Catalog({"m": Source("m", (Column("k", "int"), Column("ts", "timestamp")), "ts")})
SQL = "SELECT k, count(*) AS n FROM m GROUP BY k"
ROWS, GROUPS, LENGTH = 2_000, 200, 100_000
SPOILT = {
    "removed": "DELETE FROM staged WHERE {some}",
    "moved": "UPDATE staged SET _matched_at = _matched_at + INTERVAL 20 SECOND WHERE {some}",
    "other value": "UPDATE staged SET n = n + 3 WHERE {some}",
    "made up": "INSERT INTO staged SELECT * REPLACE (n + 7 AS n) FROM staged WHERE {some}",
}


def world(rng: random.Random) -> tuple[duckdb.DuckDBPyConnection, Check]:
    """A history, and a check of the run over its last tenth with the right rows."""
    connection = duckdb.connect(config={"threads": 1})
    connection.execute("SET TimeZone = 'UTC'")
    rows = [(rng.randrange(GROUPS), BASE + rng.randrange(LENGTH) * SECOND) for _ in range(ROWS)]
    connection.execute("CREATE TABLE m (k INT, ts TIMESTAMPTZ)")
    connection.executemany("INSERT INTO m VALUES (?, ?)", rows)
    tau, t = BASE + LENGTH * 9 // 10 * SECOND, BASE + LENGTH * SECOND
    connection.execute(
        "CREATE TABLE every AS SELECT k, n, min(ts) AS _matched_at, '1' AS _key FROM (SELECT k, ts,"
        " count(*) OVER (PARTITION BY k ORDER BY ts) AS n FROM m) GROUP BY k, n"
    )
    connection.execute("CREATE TABLE published AS FROM every WHERE _matched_at <= ?", [tau])
    connection.execute("CREATE TABLE right_rows AS FROM every WHERE _matched_at > ?", [tau])
    definition = Definition.read(SQL, CATALOG, {"m": Scan("m", "ts", "rowid")}, "duckdb")

    def ask(text: str) -> list[tuple[Any, ...]]:
        return connection.execute(text).fetchall()

    start = min(ts for _, ts in rows)
    return connection, Check(definition, RunRows("staged", start, tau, t), ask, lambda: "published")


def found(check: Check, number: int, grouped: bool) -> tuple[bool, float]:
    """Does a sample find something wrong, and how often did it look at all rows?"""
    looks = 0.0
    compare = Check.compare

    def counting(self: Check, comparison: Comparison, chosen: Chosen, *rest: Any) -> None:
        nonlocal looks
        share = 1 if comparison.definition is self.definition else 1 / 16
        looks += share * (len(chosen.instants) + 1)
        compare(self, comparison, chosen, *rest)

    fresh = Check(check.definition, check.rows, check.ask, check.published)
    with mock.patch.object(Check, "compare", counting):
        sample = Sample((), str(number), turn=number)
        if grouped:
            results = fresh.sample(sample)
        else:
            with mock.patch.object(Definition, "in_bucket", return_value=None):
                results = fresh.sample(sample)
    return not all(result.passed for result in results), looks


def measure(trials: int, seed: int) -> list[tuple[str, str, int, int, int]]:
    """(what was spoilt, how much, runs, found by instants, found by buckets)."""
    rng = random.Random(seed)
    counts: Counter[tuple[str, str, str]] = Counter()
    looks: Counter[bool] = Counter()
    for number in range(trials):
        if number % 20 == 0:
            connection, check = world(rng)
        kind, share = sorted(SPOILT)[number % 4], ("one row", "1 %", "10 %")[number // 4 % 3]
        connection.execute("CREATE OR REPLACE TABLE staged AS FROM right_rows")
        ((total,),) = connection.execute("SELECT count(*) FROM staged").fetchall()
        count = {"one row": 1, "1 %": total // 100, "10 %": total // 10}[share]
        some = ", ".join(map(str, rng.sample(range(total), count)))
        connection.execute(SPOILT[kind].format(some=f"rowid IN ({some})"))
        counts[(kind, share, "runs")] += 1
        for grouped in (False, True):
            noticed, looked = found(check, number, grouped)
            counts[(kind, share, "buckets" if grouped else "instants")] += noticed
            looks[grouped] += int(looked * 100)
    print(
        f"looks at all rows a run: {looks[False] / trials / 100:.1f} by instants,"
        f" {looks[True] / trials / 100:.1f} by buckets"
    )
    told = sorted({key[:2] for key in counts})
    return [(*key, *(counts[(*key, c)] for c in ("runs", "instants", "buckets"))) for key in told]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=96)
    parser.add_argument("--seed", type=int, default=1)
    wanted = parser.parse_args()
    print(f"{'spoilt':12} {'how much':8} {'runs':>5} {'by instants':>12} {'by buckets':>11}")
    for kind, share, runs, instants, buckets in measure(wanted.trials, wanted.seed):
        print(f"{kind:12} {share:8} {runs:5} {instants:12} {buckets:11}")


if __name__ == "__main__":
    main()
