"""What a statement reads of each source, told from the statement."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.sql.test_pairs import CATALOG, START

from tapestry.sql import Scan, rewrite
from tapestry.sql.look.source_reads import Reading, branches, readings
from tapestry.sql.timing import text_of

SCANS = {
    "messages": Scan("db.messages VERSION AS OF 3", "ts", "id"),
    "authors": Scan("db.authors VERSION AS OF 1", None, "id"),
}
JOIN = "select m.id, r.id as reply from messages m join messages r on r.parent = m.id"


def _readings(query: str, assume: tuple[str, ...] = ()) -> tuple[str, tuple[Reading, ...]]:
    bare = {name: Scan(name, s.arrival, "row_id") for name, s in SCANS.items()}
    tau, t = text_of(START), text_of(START + timedelta(days=1))
    statement = rewrite(query, CATALOG, assume=assume).template(bare, tau, t)
    return statement, readings(statement, SCANS)


def test_each_branch_narrows_one_table() -> None:
    statement, found = _readings(JOIN)
    assert branches(statement) == 2
    assert [(r.place, r.alias, r.narrowed) for r in found] == [
        ("branch 1 of 2", "m", True),
        ("branch 1 of 2", "r", False),
        ("branch 2 of 2", "r", True),
        ("branch 2 of 2", "m", False),
    ]
    assert found[0].predicate == (
        "((ts) > CAST('2026-01-01 00:00:00+00:00' AS TIMESTAMP))"
        " AND ((ts) <= CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP))"
    )
    assert found[1].keys == ("parent",)


def test_a_known_order_leaves_one_branch() -> None:
    statement, found = _readings(JOIN, assume=("r.ts >= m.ts",))
    assert branches(statement) == 1
    assert [(r.alias, r.narrowed) for r in found] == [("r", True), ("m", False)]


def test_subqueries_and_static_tables() -> None:
    _, found = _readings(
        "select m.id from messages m join authors a on a.author = m.author"
        " where a.level = 2 and not exists (select 1 from messages r where r.parent = m.id)"
    )
    places = {(r.place, r.alias): r for r in found}
    static = places["the only branch", "a"]
    assert (static.source, static.predicate, static.window) == ("authors", "(level = 2)", ())
    assert places["the only branch, not exists", "r"].keys == ("parent",)
    assert places["the only branch, not exists, keys for the rows looked up", "m"].narrowed


def test_steps_before_the_last_are_named() -> None:
    _, found = _readings(
        "select m.id from messages m where exists (select 1 from messages r where r.parent = m.id)"
    )
    assert any(r.place.startswith("p1_1_tried_1, branch 1 of") for r in found)
    assert any(r.place.endswith(", exists") for r in found)


@pytest.mark.parametrize(
    ("sql", "alone"),
    [
        ("select id from messages where author = 'a' or now() > ts + interval 2 days", True),
        ("select id from messages union all select id from messages", True),
        ("select distinct author from messages", False),
        ("select a.id from messages a join messages b on a.id = b.parent", False),
        (
            "select m.id from messages m"
            " where exists (select 1 from messages r where r.parent = m.id)",
            False,
        ),
        ("select id from messages union all select distinct author from messages", False),
    ],
)
def test_whether_each_answer_is_a_row_of_one_table(sql: str, alone: bool) -> None:
    assert rewrite(sql, CATALOG).reads_alone is alone


_REPLY = "(select 1 from messages r where r.parent = m.id)"


@pytest.mark.parametrize(
    ("where", "forgets"),
    [
        ("now() > m.ts + interval 2 days", True),
        (f"now() > m.ts + interval 2 days and not exists {_REPLY}", True),
        (f"not exists {_REPLY} and not exists {_REPLY.replace('parent', 'id')}", True),
        ("now() > m.ts + interval 2 days or m.ts > now() - interval 1 day", True),
        (f"now() > m.ts + interval 2 days or (m.id = 1 and not exists {_REPLY})", False),
        (f"exists {_REPLY}", False),
        (f"not exists {_REPLY[:-1]} and r.ts > now() - interval 1 day)", False),
    ],
)
def test_whether_rows_that_ended_before_a_window_decide_in_it(where: str, forgets: bool) -> None:
    assert rewrite(f"select m.id from messages m where {where}", CATALOG).forgets_ended is forgets
    distinct = rewrite(f"select distinct m.id from messages m where {where}", CATALOG)
    assert not distinct.forgets_ended
    derived = f"select m.id from (select distinct id, ts from messages m) m where {where}"
    assert not rewrite(derived, CATALOG).forgets_ended


@pytest.mark.parametrize(
    "sql",
    [
        "select a.author from authors a union all select m.author from messages m",
        "select a.author from authors a"
        " where not exists (select 1 from messages m where m.author = a.author)",
    ],
)
def test_gone_rows_say_when_time_began(sql: str) -> None:
    """Static rows alone hold from then on, unless the model has a begin."""
    asks, begins = rewrite(sql, CATALOG), rewrite(sql, CATALOG, begin=START)
    assert asks.looks_back_at("messages")
    assert not asks.forgets_ended
    assert begins.looks_back_at("messages") is ("exists" in sql)
    assert begins.forgets_ended


def test_static_rows_say_nothing_of_when_time_began() -> None:
    sql = "select a.author from authors a union all select m.author from messages m"
    assert not rewrite(sql, CATALOG).looks_back_at("authors")
