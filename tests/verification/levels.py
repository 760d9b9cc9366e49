"""Which level notices which mistake, and after how many runs."""

from __future__ import annotations

from dataclasses import dataclass

import duckdb
from tests.verification.mutants import MUTANTS
from tests.verification.stream import BASE, CATALOG, QUERIES, Mutate, right, runs, world

from tapestry.sql import rewrite
from tapestry.verification.check import Sample
from tapestry.verification.ripe_ranges import ripe_ranges
from tapestry.verification.turns import turn

TURNS = 8
ASKED_IN_FULL = 3
"""So many of the runs that go wrong, with each query, are checked in full."""


@dataclass
class Level:
    """What came of one mistake in one query.

    wrong
        Runs with other rows than the right ones.
    full
        Those checked in full, and those of them noticed.
    sample
        Runs from the first wrong one to the first that a sample notices; None: never.
    """

    query: str
    wrong: int = 0
    asked: int = 0
    noticed: int = 0
    sample: int | None = None


def measure(
    mutant: Mutate, queries: dict[str, str], windows: int = 40, full: int = ASKED_IN_FULL
) -> list[Level]:
    """The levels of one mistake, for every query that it spoils."""
    levels = [_of_query(world(), name, sql, mutant, windows, full) for name, sql in queries.items()]
    return [level for level in levels if level.wrong]


def _of_query(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    sql: str,
    mutant: Mutate,
    windows: int,
    full: int,
) -> Level:
    level, first = Level(name), 0
    rewriting = rewrite(sql, CATALOG)
    for run in runs(connection, sql, mutant, windows):
        scans = dict(run.check.definition.scans)
        text = right(rewriting, run.window, scans)
        difference = (
            f"SELECT count(*) FROM ((FROM staged EXCEPT ALL ({text}))"
            f" UNION ALL (({text}) EXCEPT ALL FROM staged))"
        )
        ((different,),) = connection.execute(difference).fetchall()
        level.wrong += bool(different)
        first = first or (run.n if different else 0)
        if level.sample is None and first:
            tau, t = run.rows.tau, run.rows.t
            check = run.again()
            ripe = () if tau is None else ripe_ranges(check.definition, check.ask, tau, t)
            ranges = turn(run.n, TURNS, BASE, tau, t, ripe)
            found = check.sample(Sample(ranges, str(run.n)))
            if not all(result.passed for result in found):
                level.sample = run.n - first + 1
        if different and level.asked < full:
            level.asked += 1
            level.noticed += not all(result.passed for result in run.again().full())
        if level.asked >= full and level.sample is not None:
            break
    return level


def table(measured: dict[str, list[Level]]) -> str:
    """The table of the documentation."""
    lines = [
        "| mistake | queries it spoils | `full` notices | `sample` notices after |",
        "|---|---:|---:|---|",
    ]
    for name, levels in measured.items():
        asked, noticed = sum(x.asked for x in levels), sum(x.noticed for x in levels)
        seen = sorted(x.sample for x in levels if x.sample is not None)
        never = sorted(x.wrong for x in levels if x.sample is None)
        after = _after(seen, never)
        lines.append(f"| {name} | {len(levels)} | {noticed} of {asked} | {after} |")
    return "\n".join(lines)


def _after(seen: list[int], never: list[int]) -> str:
    texts = []
    if seen:
        texts.append(f"{seen[0]} run{'s' if seen[0] > 1 else ''}")
        if seen[-1] != seen[0]:
            texts = [f"{seen[0]} to {seen[-1]} runs, half within {seen[(len(seen) - 1) // 2]}"]
    if never:
        texts.append(f"never where {_or(never)} of 40 runs were wrong")
    return "; ".join(texts)


def _or(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers))


if __name__ == "__main__":
    print(table({name: measure(mutant, QUERIES) for name, mutant in MUTANTS.items()}))
