"""What was measured of one table's rows, as Spark compares them: all rows fulfil what follows.

Random conjunctions of each type by itself, and rows that fulfil them: the least and the greatest
values of one table's columns among those rows are what a run would measure.
"""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from random import Random
from typing import Any

import pytest
from tests.seeds import seeds
from tests.sql.random_conditions import ALONE, Conjunctions, Key, rows_of
from tests.sql.spark_values import Value, holds

from tapestry.sql.branches.measured import ColumnEnds
from tapestry.sql.infer.kinds import Range
from tapestry.sql.planner.measure_narrowed import exact
from tapestry.sql.planner.measured_ranges import implied_ranges, kinds_of, range_between

CASES, ROWS = 60, 4
GROUPS = [group for group in ALONE if group != "text"]


@pytest.mark.parametrize("group", GROUPS)
def test_rows_fulfil_what_is_measured_of_them(group: str) -> None:
    seen: Counter[str] = Counter()
    for seed in seeds(CASES):
        random = Random(f"measured {group} {seed}")
        made = Conjunctions(random, ALONE[group])
        conditions = [*made.some()[:3], made.typed(f"r2.a {random.choice(('<=', '>'))} r1.a")]
        found = [rows_of(made.types, conditions, None, random) for _ in range(ROWS)]
        rows = [row for row in found if row is not None]
        if not rows:
            continue
        facts = facts_of(rows, conditions, "r1")
        others = sorted({alias for alias, _ in made.types} - {"r1"})
        inferred = implied_ranges(conditions, (), others, facts, "UTC")
        seen["inferred"] += len(inferred)
        for one in inferred:
            for row in rows:
                assert holds(one.condition, row) is True, told(conditions, one.condition, row)
    assert seen["inferred"], seen


def facts_of(rows: list[dict[Key, Value]], conditions: Any, alias: str) -> dict[Key, Range]:
    """The ends of a table's columns, as the statement of a run finds them."""
    facts = {}
    for key, kind in kinds_of(conditions).items():
        values = [row[key][1] for row in rows if key[0] == alias and row[key][1] is not None]
        if not values:
            continue
        ordered = sorted(
            values,
            key=lambda v: (
                _is_nan(v),
                0 if _is_nan(v) else Fraction(v) if not _is_infinite(v) else v,
            ),
        )
        ends = ColumnEnds(key[1], exact(ordered[0]), exact(ordered[-1]))
        facts[key] = range_between(ends, kind)
    return facts


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _is_infinite(value: Any) -> bool:
    return isinstance(value, float) and math.isinf(value)


def told(conditions: Any, inferred: Any, row: dict[Key, Value]) -> str:
    texts = " AND ".join(one.sql("spark") for one in conditions)
    return f"{texts}\n  gives {inferred.sql('spark')}\n  not of {row}"
