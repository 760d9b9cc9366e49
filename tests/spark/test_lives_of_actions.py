"""An action with another unit of batching, another rule, or a first run that fails: every firing is
acted upon once."""

from __future__ import annotations

import logging
from collections import Counter
from typing import Any

import pytest
from tests.spark.rule_world import FEED, Rules

from tapestry.errors import ConfigurationError, UniqueColumnMissing

UNITS: dict[str, dict[str, Any]] = {
    "single": {},
    "all": {"unique": True},
    "k": {"unique_on": ["k"]},
    "g": {"unique_on": ["g"]},
    "g, k": {"unique_on": ["g", "k"]},
    "k, g": {"unique_on": ["k", "g"]},
}
ADD = (
    "merge into {s}.sums as t using (select k, sum(v) as v from matches group by k) as d"
    " on t.k = d.k when matched then update set v = t.v + d.v"
)


@pytest.fixture
def sums(session: Any, schema: str) -> Rules:
    rules = Rules(session, schema)
    rules.do(
        f"create table {{s}}.t (k string, g string, v int) using delta {FEED}",
        f"create table {{s}}.u (k string, g string, v int) using delta {FEED}",
        "create table {s}.sums (k string, v int) using delta",
        "insert into {s}.sums values ('a', 0), ('b', 0)",
    )
    return rules


def total(world: Rules) -> list[tuple[Any, ...]]:
    return world.rows("select k, v from {s}.sums order by k")


def test_another_unit_takes_nothing_twice(sums: Rules) -> None:
    rule = sums.rule("r", "select * from inserted", "t", when="inserted")
    right: Counter[str] = Counter()
    for number, how in enumerate(UNITS.values()):
        action = sums.action("add", ADD, "r", **how)
        if number == 0:
            sums.now(rule)
        assert str(sums.now(action)) == "nothing due"
        sums.do(f"insert into {{s}}.t values ('a', 'x', {2**number}), ('b', 'x', {3**number})")
        right.update(a=2**number, b=3**number)
        sums.now(rule)
        sums.now(action)
        assert dict(total(sums)) == right


def test_another_unit_waits_for_what_waits(sums: Rules) -> None:
    """What waits in batches of the former unit has to be executed first, or is dropped."""
    rule = sums.rule("r", "select * from inserted", "t", when="inserted", after="1 hour")
    by_key = sums.action("add", ADD, "r", unique_on=["k"])
    at_once = sums.action("add", ADD, "r", unique=True)
    sums.now(rule)
    sums.now(by_key)
    sums.do("insert into {s}.t values ('a', 'x', 1)")
    sums.now(rule)
    sums.now(by_key, later=7200)
    sums.do("insert into {s}.t values ('b', 'x', 10)")
    sums.now(rule)
    with pytest.raises(ConfigurationError, match="1 batch of the former ones waits"):
        sums.now(at_once, later=7200)
    sums.now(by_key, later=7200)
    assert str(sums.now(at_once, later=7200)) == "nothing due"
    assert total(sums) == [("a", 1), ("b", 10)]
    sums.do("insert into {s}.t values ('a', 'x', 100)")
    sums.now(rule)
    sums.now(by_key, full_refresh=True)
    assert str(sums.now(by_key, later=7200)) == "nothing due"


def test_another_unit_and_a_rule_that_is_built_again(sums: Rules) -> None:
    rule = sums.rule("r", "select * from inserted", "t", when="inserted")
    sums.now(rule)
    by_key = sums.action("add", ADD, "r", unique_on=["k"])
    sums.now(by_key)
    sums.do("insert into {s}.t values ('a', 'x', 1)")
    sums.now(rule)
    sums.now(by_key)
    other = sums.rule("r", "select *, g as h from inserted", "t", when="inserted")
    sums.now(other, full_refresh=True)
    sums.do("insert into {s}.t values ('b', 'x', 10)")
    sums.now(other)
    sums.now(sums.action("add", ADD, "r", unique_on=["h"]))
    assert total(sums) == [("a", 1), ("b", 10)]


def test_an_action_whose_first_runs_fail_loses_nothing(sums: Rules) -> None:
    rule = sums.rule("r", "select * from inserted", "t", when="inserted")
    sums.now(rule)
    wrong = sums.action("add", ADD, "r", unique_on=["nothing"])
    for number in (1, 10):
        with pytest.raises(UniqueColumnMissing):
            sums.now(wrong)
        sums.do(f"insert into {{s}}.t values ('a', 'x', {number})")
        sums.now(rule)
    sums.now(sums.action("add", ADD, "r", unique_on=["k"]))
    assert total(sums) == [("a", 11), ("b", 0)]


def test_a_rule_that_is_added_begins_with_what_comes(
    sums: Rules, caplog: pytest.LogCaptureFixture
) -> None:
    """As one does that an action names from the beginning, and has run before."""
    first = sums.rule("r", "select * from inserted", "t", when="inserted")
    second = sums.rule("r2", "select * from inserted", "u", when="inserted")
    for rule in (first, second):
        sums.now(rule)
    sums.now(sums.action("add", ADD, "r", unique=True))
    sums.do("insert into {s}.t values ('a', 'x', 1)", "insert into {s}.u values ('a', 'x', 10)")
    for rule in (first, second):
        sums.now(rule)
    both = sums.action("add", ADD, "r", "r2", unique=True)
    with caplog.at_level(logging.WARNING):
        sums.now(both)
    assert "what that has bound so far is not acted upon" in caplog.text
    sums.do("insert into {s}.u values ('b', 'x', 100)")
    sums.now(second)
    sums.now(both)
    assert total(sums) == [("a", 1), ("b", 100)]


def test_an_action_that_was_killed_as_its_life_began_gets_its_view(sums: Rules) -> None:
    """The life is durable before the view of its batches is made."""
    sums.now(sums.rule("r", "select * from inserted", "t", when="inserted"))
    action = sums.action("add", ADD, "r", unique_on=["k"])
    sums.now(action)
    sums.do("drop view {s}.add")
    assert str(sums.now(action)) == "nothing due"
    assert sums.rows("select * from {s}.add") == []


@pytest.mark.parametrize("there", [False, True])
def test_an_action_that_runs_before_its_rules(sums: Rules, there: bool) -> None:
    """Its life begins at that run: what a rule finds later belongs to it, however often it ran."""
    one = sums.rule("r", "select * from inserted", "t", when="inserted")
    other = sums.rule("q", "select * from inserted", "u", when="inserted")
    action = sums.action("add", ADD, "r", "q", unique=True)
    if there:  # one of the two has run, and bound what does not belong to the action
        for number in (100, 200):
            sums.now(one)
            sums.do(f"insert into {{s}}.t values ('b', 'x', {number})")
        sums.now(one)
    for _ in range(2):
        assert str(sums.now(action)) == "nothing due"
    for number in (1, 2):
        sums.now(one)
        sums.now(other)
        for table in ("t", "u"):
            sums.do(f"insert into {{s}}.{table} values ('a', 'x', {number})")
    sums.now(one)
    sums.now(other)
    sums.now(action)
    assert total(sums) == [("a", 6), ("b", 0)]
