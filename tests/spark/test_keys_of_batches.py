"""Batches by the values of columns: equal values are one batch, whatever their type, others two."""

from __future__ import annotations

from typing import Any

import pytest
from tests.spark.rule_world import FEED, Rules

from tapestry.errors import ConfigurationError

VALUES = {
    "binary": (["x'FF'", "x'FE'", "x'FF'", "x''", "NULL"], 4),
    "double": (["double('NaN')", "double('NaN')", "0.0D", "-0.0D", "NULL", "NULL"], 3),
    "float": (["float('NaN')", "float('NaN')", "float(0)", "-float(0)", "0.1F", "NULL"], 4),
    "decimal(10,2)": (["1.1", "1.10", "-1.10", "0.00"], 3),
    "timestamp_ntz": (["'2026-01-01 00:00:00.000001'", "'2026-01-01'", "'2026-01-01'"], 2),
    "timestamp": (
        [
            "'2026-10-25T00:30:00Z'",
            "'2026-10-25T01:30:00Z'",
            "'2026-10-25T01:30:00.000001Z'",
            "'2026-10-25 02:30:00+01:00'",
            "NULL",
        ],
        4,
    ),
    "date": (["'2026-01-01'", "'2026-01-01'", "NULL"], 2),
    "boolean": (["true", "false", "true", "NULL"], 3),
    "string": (["'a\"b'", "'a'", "'A'", "'NULL'", "NULL", "''", "'[]'", "'x\\\\y\\nz'", "'ä'"], 9),
}
"""By type: values in the order in which they are inserted, and how many of them differ."""


@pytest.fixture
def world(session: Any, schema: str) -> Rules:
    return Rules(session, schema)


def test_equal_values_are_one_batch(world: Rules) -> None:
    """Also where the zone of the session has an hour twice."""
    listed = ", ".join(f"c{i} {kind}" for i, kind in enumerate(VALUES))
    world.do(
        f"create table {{s}}.t (n int, {listed}) using delta {FEED}",
        "create table {s}.log (what string, n bigint) using delta",
    )
    rule = world.rule("r", "select * from inserted", "t", when="inserted")
    world.now(rule)
    body = "insert into {s}.log select 'c%d', count(*) from matches"
    actions = {
        i: world.action(f"a{i}", body % i, "r", unique_on=[f"c{i}"], together="false")
        for i in range(len(VALUES))
    }
    for action in actions.values():
        world.now(action)
    places = range(max(len(values) for values, _ in VALUES.values()))
    rows = [
        ", ".join(values[n] if n < len(values) else "NULL" for values, _ in VALUES.values())
        for n in places
    ]
    world.do(
        f"insert into {{s}}.t values {', '.join(f'({n}, {row})' for n, row in enumerate(rows))}"
    )
    world.now(rule)
    world.do("set time zone 'Europe/Berlin'")
    try:
        for action in actions.values():
            world.now(action)
    finally:
        world.do("set time zone 'UTC'")
    found = dict(world.rows("select what, count(*) from {s}.log group by what"))
    null = {
        kind: len(values) < len(places) or "NULL" in values for kind, (values, _) in VALUES.items()
    }
    right = {
        f"c{i}": many + (null[kind] and "NULL" not in values)
        for i, (kind, (values, many)) in enumerate(VALUES.items())
    }
    assert found == right
    sums = world.rows("select what, sum(n) from {s}.log group by what")
    assert {many for _, many in sums} == {len(places)}
    for action in actions.values():
        assert str(world.now(action)) == "nothing due"


@pytest.mark.parametrize(
    "value",
    [
        "struct('a, b' as x, 'c' as y)",
        "array('a, b')",
        "map('a', 1)",
        "parse_json('1')",
    ],
)
def test_what_tells_no_batches_apart_is_refused(world: Rules, value: str) -> None:
    world.do(f"create table {{s}}.t (n int) using delta {FEED}")
    rule = world.rule("r", f"select n, {value} as v from inserted", "t", when="inserted")
    world.now(rule)
    action = world.action("a", "insert into {s}.t select n from matches", "r", unique_on=["v"])
    with pytest.raises(ConfigurationError, match="do not tell batches apart"):
        world.now(action)
