"""Places where rules do something else than is defined, that no case of the interpreter shows."""

from __future__ import annotations

from typing import Any

import pytest
from tests.spark.rule_world import FEED, Rules

pytestmark = pytest.mark.more


@pytest.fixture
def world(session: Any, schema: str) -> Rules:
    rules = Rules(session, schema)
    rules.do(
        f"create table {{s}}.t (id int, m map<string, int>) using delta {FEED}",
        "insert into {s}.t values (1, map('a', 1))",
    )
    return rules


class Busy:
    """A session in which somebody commits just before the history of a table is read."""

    def __init__(self, session: Any, statement: str) -> None:
        self.session = session
        self.statement = statement

    def __getattr__(self, name: str) -> Any:
        return getattr(self.session, name)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Execute a query; the first one for several lines of a history comes too late."""
        if self.statement and sql.startswith("DESCRIBE HISTORY") and not sql.endswith("LIMIT 1"):
            statement, self.statement = self.statement, ""
            self.session.run(statement)
        return list(self.session.rows(sql))


def test_a_commit_meanwhile_is_left_for_the_next_run(world: Rules) -> None:
    rule = world.rule("r", "select id from inserted", "t", when="inserted", key="id")
    world.now(rule)
    world.do("insert into {s}.t values (2, null)", "insert into {s}.t values (3, null)")
    session = world.session
    world.session = Busy(session, f"insert into {world.schema}.t values (4, null)")  # type: ignore[assignment]
    world.now(rule)
    world.session = session
    world.now(rule)
    assert sorted(world.rows("select id from {s}.r")) == [(2,), (3,), (4,)]


def test_a_map_is_bound(world: Rules) -> None:
    rule = world.rule("r", "select id, m from inserted", "t", when="inserted", begin="1")
    world.now(rule)
    assert world.rows("select id, m from {s}.r") == [(1, {"a": 1})]


def test_a_rules_table_holds_what_it_evaluates_first(world: Rules) -> None:
    """Where the body's SELECT is not bound, it holds the first table of `evaluate`."""
    text = "with a as (select 1 as one from inserted), b as (select id from inserted) select 1"
    rule = world.rule(
        "r", text, "t", **{"when": "inserted", "begin": "1", "if": ["a"], "evaluate": ["b"]}
    )
    world.now(rule)
    assert world.rows("select * from {s}.r limit 0") == []
    assert "id" in [row[0] for row in world.rows("describe table {s}.r")]


def test_earliest_is_where_the_feed_begins(world: Rules) -> None:
    world.do(
        "create table {s}.u (id int) using delta",
        "insert into {s}.u values (1)",
        "alter table {s}.u set tblproperties ('delta.enableChangeDataFeed' = 'true')",
        "insert into {s}.u values (2)",
    )
    rule = world.rule("r", "select id from inserted", "u", when="inserted", begin="earliest")
    world.now(rule)
    assert world.rows("select id from {s}.r") == [(2,)]
