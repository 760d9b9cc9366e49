"""Which conditions hold wherever others do: each verdict against all rows of small domains."""

from __future__ import annotations

import math
from decimal import Decimal
from itertools import combinations, product
from typing import Any

import pytest
from tests.sql.spark_values import holds

from tapestry.sql import Column
from tapestry.sql.look.implied import LONGEST, MOST, all_implied, condition_tree

TYPES = {
    "i": "int",
    "m": "decimal(15,2)",
    "d": "double",
    "s": "string",
    "day": "date",
}
COLUMNS = tuple(Column(*one) for one in TYPES.items())
VALUES: dict[str, tuple[Any, ...]] = {
    "i": (None, 0, 1, 2, 3),
    "m": (None, *map(Decimal, ("0.99", "1.00", "1.01", "2.00"))),
    "d": (None, 0.5, 1.0, 2.0, math.inf, math.nan),
}
CONDITIONS = (
    "`i` > 1",
    "`i` >= 2",
    "`i` < 2",
    "2 <= `i`",
    "`i` = 2",
    "`i` <> 1",
    "`i` <=> 2",
    "NOT `i` < 2",
    "NOT `i` = 2",
    "`i` BETWEEN 1 AND 2",
    "`i` IN (1, 3)",
    "`i` IN (2, NULL)",
    "`i` IS NULL",
    "`i` IS NULL OR `i` > 2",
    "`i` > 2 OR `m` > 1",
    "`i` > 2 OR `i` = 2",
    "`i` = `m`",
    "`i` + 1 > 2",
    "`m` > 1",
    "`m` > 1.005",
    "`m` >= 1.01",
    "`d` > 1",
    "`d` >= 2",
    "`d` <= 1",
    "`d` < 2",
    "NOT `d` <= 1",
)


def implied(goal: str, *by: str) -> bool:
    return all_implied([goal], by, COLUMNS, "UTC")


def test_each_verdict_holds_of_all_rows() -> None:
    rows = [
        {("t", name): (TYPES[name], value) for name, value in zip(VALUES, row, strict=True)}
        for row in product(*VALUES.values())
    ]
    trees = {text: condition_tree(text, COLUMNS) for text in CONDITIONS}
    true = {
        text: {n for n, row in enumerate(rows) if tree is not None and holds(tree, row) is True}
        for text, tree in trees.items()
    }
    found = 0
    for by in [*combinations(CONDITIONS, 1), *combinations(CONDITIONS, 2)]:
        kept = set.intersection(*(true[one] for one in by))
        for goal in CONDITIONS:
            if goal not in by and implied(goal, *by):
                found += 1
                assert kept <= true[goal], f"{by} do not imply {goal}"
    assert found > 700


@pytest.mark.parametrize(
    ("goal", "by"),
    [
        ("`i` > 5", ["`i` >= 6"]),
        ("`m` > 500000", ["`m` > 1000000"]),
        ("`i` > 5", ["`m` > 7", "`i` = `m`"]),
        ("`day` >= CAST('2026-01-01' AS DATE)", ["`day` = CAST('2026-01-01' AS DATE)"]),
        ("`s` = 'x'", ["`i` > 1", "`s` = 'x'"]),
    ],
)
def test_what_follows(goal: str, by: list[str]) -> None:
    assert implied(goal, *by)


@pytest.mark.parametrize(
    ("goal", "by"),
    [
        ("`i` > 5", ["`i` > 4"]),
        ("`i` > 5", ["`m` > 7"]),
        ("`i` > 5", []),
        ("`i` > 5", ["`i` > 9 AND `i` < 3"]),  # of no row anything is said
        ("`s` > 'a'", ["`s` > 'b'"]),  # a text may be compared otherwise
        # What another process wrote is never run unless it is a column beside a constant.
        ("`i` > f(5)", ["`i` > 9"]),
        ("`i` > (SELECT 5)", ["`i` > 9"]),
        ("`i` > 5 /* */", ["`i` > 9"]),
        ("`i`  > 5", ["`i` > 9"]),
        ("`u`.`i` > 5", ["`i` > 9"]),
        ("`other` > 5", ["`i` > 9"]),
        ("`i` > 5 AND true", ["`i` > 9"]),
        ("`i` >", ["`i` > 9"]),
        ("(" * LONGEST + "`i` > 5" + ")" * LONGEST, ["`i` > 9"]),
        ("`i` > 5", ["`i` > 9"] * (MOST + 1)),
    ],
)
def test_what_does_not(goal: str, by: list[str]) -> None:
    assert not implied(goal, *by)
