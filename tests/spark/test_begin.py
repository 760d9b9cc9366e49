"""Where a rule begins: `begin` as a word, a version and an instant, over a feed and over a log."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from tests.spark.rule_world import FEED, Rules
from tests.spark.test_rule_logs import Logs

from tapestry.errors import ConfigurationError
from tapestry.instants import now_utc

pytestmark = pytest.mark.more


def test_places_in_a_feed(session: Any, schema: str) -> None:
    """An instant: the first commit at or after it."""
    world = Rules(session, schema)
    world.do(f"create table {{s}}.t (id int) using delta {FEED}")
    world.do(*(f"insert into {{s}}.t values ({number})" for number in (1, 2, 3)))
    made = {row[0]: row[1] for row in world.rows("describe history {s}.t")}
    second, hour = made[2].astimezone(), timedelta(hours=1)
    for place, (begin, found) in enumerate([
        ("earliest", [1, 2, 3]), ("now", []), ("2", [2, 3]), (2, [2, 3]), ("9", []),
        (second.isoformat(), [2, 3]), (second + timedelta(microseconds=1), [3]),
        ((second - hour).isoformat(), [1, 2, 3]), (now_utc().isoformat(), []),
    ]):  # fmt: skip
        rule = world.rule(f"r{place}", "select id from inserted", "t", when="inserted", begin=begin)
        world.now(rule)
        ids = [id_ for (id_,) in world.rows(f"select id from {{s}}.r{place} order by id")]
        assert ids == found, begin
    late = world.rule("late", "select id from inserted", "t", when="inserted",
                      begin=(now_utc() + hour).isoformat())  # fmt: skip
    with pytest.raises(ConfigurationError, match="later than this run"):
        world.now(late)


def test_an_instant_of_a_log(session: Any, schema: str) -> None:
    """It is one of the log's own clock; what changes before are the rows as they were then."""
    logs = Logs(session, schema).made()
    logs.load((1, 10, 1, 1, 1, "I"), (1, 11, 2, 2, 1, "U"))
    logs.load((1, 13, 4, 4, 1, "U"), (1, 12, 3, 3, 1, "U"))
    begin = logs.begin + timedelta(minutes=3)
    logs.now(logs.looking(begin=begin.isoformat()))
    logs.load((1, 14, 5, 5, 1, "U"))
    logs.now(logs.looking(begin=begin.isoformat()))
    found = logs.rows("select a, b, tx from {s}.r order by _firing")
    assert found == [(11, 12, 3), (12, 13, 4), (13, 14, 5)]
