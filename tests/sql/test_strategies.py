"""What is chosen for a block is what is shown, reckoned and rendered."""

from __future__ import annotations

import pytest
from tests.sql.test_pairs import CATALOG, SCANS, START

from tapestry.sql import Window, rewrite
from tapestry.sql.arms import evaluated
from tapestry.sql.choose_strategy import MANY, STRATEGIES, strategy_for

OLD = "select m.id from messages m where "
GONE = "not exists (select 1 from messages r where r.parent = m.id{still})"
STILL = " and r.ts > now() - interval 2 days"


def ors(count: int) -> str:
    """So many alternatives."""
    parts = [f"m.ts < now() - interval {n} hours and m.id <> {n}" for n in range(1, count + 1)]
    return f"({' or '.join(f'({part})' for part in parts)})"


CASES = {
    "bounds": OLD + ors(MANY - 1),
    "least": OLD + ors(MANY),
    "anti_join": OLD + f"{ors(MANY - 1)} and {GONE.format(still='')}",
    "gaps": OLD + f"{ors(2)} and {GONE.format(still=STILL)}",
    "gaps for many": OLD + f"{ors(MANY)} and {GONE.format(still='')}",
    "candidates": OLD + "exists (select 1 from messages r where r.parent = m.id)",
}
WRITTEN = {
    "bounds": lambda sql: "_found" not in sql and "LEAST(" not in sql,
    "least": lambda sql: "LEAST(" in sql and "_found" not in sql,
    "anti_join": lambda sql: "_found" not in sql and "NOT EXISTS" in sql,
    "gaps": lambda sql: "_found" in sql,
    "candidates": lambda sql: "_found" in sql,
}


@pytest.mark.parametrize("case", CASES)
def test_the_strategy_that_is_shown_is_the_one_that_is_rendered(case: str) -> None:
    rewriting = rewrite(CASES[case], CATALOG)
    name = case.split()[0]
    assert rewriting.strategy == name
    assert WRITTEN[name](rewriting.incremental(Window(START, START), SCANS))
    (shown,) = [step.why for step in rewriting.trace if step.name == "first_instant"]
    assert shown == next(one.why for one in STRATEGIES if one.name == name)


def test_one_strategy_decides() -> None:
    """The first that fits; the last of its kind fits every block, and every arm by itself."""
    for text in CASES.values():
        (arm,) = rewrite(text, CATALOG).arms
        for one in evaluated(arm):
            of_kind = [each for each in STRATEGIES if isinstance(one, each.of)]
            fitting = [each for each in of_kind if each.fits(one)]
            assert fitting[0] is strategy_for(one)
            assert fitting[-1] is of_kind[-1]
