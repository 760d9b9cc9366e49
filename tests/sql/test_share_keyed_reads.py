"""Statements that share a reading give what they gave, and read what they share."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import duckdb
import pytest
from tests.sql.database import in_utc

from tapestry.sql.planner.share_keyed_reads import NOTHING_SHARED, places, share_keyed_reads

OUTER = "SELECT id, parent, ts, 'it''s (' || id AS _row_id FROM db.messages"
INNER = "SELECT parent, id, ts AS ts, author FROM db.messages"


def statement(condition: str, low: int, high: int, read: str = OUTER) -> str:
    """What the rewriting and the checks write: rows in a range, and their keys again inside."""
    return (
        f"WITH read_1 AS (\n  {read}\n)\nSELECT m.id FROM read_1 AS m"
        f" WHERE m.id >= {low} AND m.id < {high} AND {condition} (SELECT 1 FROM read_1 AS r"
        f" WHERE r.parent = m.id AND r.ts <= m.ts + 5 AND r.parent IN"
        f" (SELECT /*+ BROADCAST(m) */ m.id FROM read_1 AS m"
        f" WHERE m.id >= {low} AND m.id < {high}))"
    )


ONE = statement("NOT EXISTS", 0, 20)
OTHER = statement("EXISTS", 30, 40, INNER)
JOIN = (
    f"WITH read_2 AS ({INNER})\nSELECT a.id, b.id AS other FROM read_2 AS a LEFT JOIN read_2 AS b"
    " ON b.parent = a.id WHERE a.id < 30 AND b.parent IN (SELECT few.key FROM"
    " (SELECT DISTINCT x.id AS key FROM read_2 AS x WHERE x.id < 30) AS few)"
)


@pytest.fixture(scope="module")
def database() -> duckdb.DuckDBPyConnection:
    connection = in_utc()
    connection.execute("CREATE SCHEMA db")
    connection.execute(
        "CREATE TABLE db.messages AS SELECT n::INT AS id,"
        " IF(n % 3 = 0, NULL, (n // 2)::INT) AS parent, (n * 7 % 40)::INT AS ts,"
        " 'a' || n AS author FROM range(100) AS t(n)"
        " UNION ALL SELECT 5, 2, 9, 'twin' FROM range(2)"
    )
    return connection


def views() -> Iterator[str]:
    return (f"shared_{number}" for number in count(1))


@pytest.mark.parametrize("texts", [(ONE, OTHER), (ONE, OTHER, JOIN), (ONE, ONE), (JOIN, OTHER)])
def test_answers_stay(database: duckdb.DuckDBPyConnection, texts: tuple[str, ...]) -> None:
    sharing = share_keyed_reads(texts, views(), dialect="duckdb")
    assert len(sharing.relations) == 1
    (shared,) = sharing.relations
    database.execute(f"CREATE OR REPLACE TEMP TABLE {shared.view} AS {shared.select}")
    ((rows,),) = database.execute(f"SELECT count(*) FROM {shared.view}").fetchall()
    assert 0 < rows < 60
    for text in texts:
        applied = sharing.applied(text)
        assert applied.count(f"{shared.view} AS") == 1
        expected = sorted(database.execute(text).fetchall(), key=repr)
        assert expected
        assert sorted(database.execute(applied).fetchall(), key=repr) == expected


def test_a_condition_that_others_imply_is_left_out(database: duckdb.DuckDBPyConnection) -> None:
    """By its name: without it the statement reads its source nowhere but outside."""
    named = [text.replace("*/ m.id FROM", "*/ m.id AS _few_keys FROM") for text in (ONE, OTHER)]
    sharing = share_keyed_reads(named, views(), dialect="duckdb")
    (shared,) = sharing.relations
    database.execute(f"CREATE OR REPLACE TEMP TABLE {shared.view} AS {shared.select}")
    for text, plain in zip(named, (ONE, OTHER), strict=True):
        applied = sharing.applied(text)
        assert applied.endswith(
            f"FROM {shared.view} AS r WHERE r.parent = m.id AND r.ts <= m.ts + 5 AND TRUE)"
        )
        rows = [database.execute(sql).fetchall() for sql in (plain, text, applied)]
        assert rows[0]
        assert sorted(rows[0]) == sorted(rows[1]) == sorted(rows[2])


def test_the_rows_of_the_shared_relation_decide(database: duckdb.DuckDBPyConnection) -> None:
    """Were it empty, nothing would be answered: both statements do read it."""
    sharing = share_keyed_reads((ONE, OTHER), views(), dialect="duckdb")
    (shared,) = sharing.relations
    database.execute(f"CREATE OR REPLACE TEMP TABLE {shared.view} AS {shared.select} AND false")
    answers = [database.execute(sharing.applied(text)).fetchall() for text in (ONE, OTHER)]
    assert len(answers[0]) == 22  # twins of 5
    assert answers[1] == []


def test_other_keys_are_looked_up_in_the_source() -> None:
    """A statement that nobody foresaw asks for other keys: it reads everything, as before."""
    sharing = share_keyed_reads((ONE, OTHER), views(), dialect="duckdb")
    unforeseen = statement("EXISTS", 30, 41, INNER)
    assert sharing.applied(unforeseen) == unforeseen
    assert sharing.applied("SELECT 1") == "SELECT 1"
    assert NOTHING_SHARED.applied(ONE) == ONE


def test_a_column_that_is_something_else_is_not_shared() -> None:
    """Row ids with a stamp and without."""
    stamped = statement("EXISTS", 30, 40, OUTER.replace("parent,", "parent + 1 AS parent,"))
    sharing = share_keyed_reads((ONE, stamped), views(), dialect="duckdb")
    assert sharing.relations == ()


def test_what_stands_alone_or_is_held_is_not_shared() -> None:
    assert share_keyed_reads((ONE,), views(), dialect="duckdb").relations == ()
    held = share_keyed_reads((ONE, OTHER), views(), apart=("db.messages",), dialect="duckdb")
    assert held.relations == ()


@pytest.mark.parametrize(
    "text",
    [
        ONE.replace("r.parent IN", "r.parent NOT IN"),
        ONE.replace("AND r.parent IN", "OR r.parent IN"),
        ONE.replace("AS m WHERE m.id >= 0 AND m.id < 20))", "AS x WHERE x.id = m.id))"),
        ONE.replace("r.ts <= m.ts", "ts <= m.ts"),
        ONE.replace("SELECT 1 FROM read_1 AS r", "SELECT * FROM read_1 AS r"),
        ONE.replace("FROM db.messages\n", "FROM db.messages LIMIT 3\n"),
        "SELECT (",
        "DROP TABLE db.messages",
    ],
)
def test_no_place_where_the_condition_does_not_bind(text: str) -> None:
    """Negated, an alternative, correlated, a column of nobody, a star, part of a source."""
    assert text != ONE
    assert list(places(text, "duckdb")) == []


def test_where_a_place_is() -> None:
    (place,) = places(ONE, "duckdb")
    assert ONE[place.start : place.end] == "read_1"
    assert ONE[place.end :].startswith(" AS r WHERE")
    assert (place.column, place.needed) == ("parent", {"parent", "ts"})
    assert place.keys.startswith(f"WITH read_1 AS (\n{OUTER}\n)\nSELECT")


def test_keys_of_a_view_by_its_name(database: duckdb.DuckDBPyConnection) -> None:
    """Which rows are looked at stands in a view: its keys are shared with those of a statement."""
    database.execute("CREATE OR REPLACE TEMP TABLE turn AS SELECT id, ts FROM db.messages LIMIT 30")
    of_view = (
        f"WITH read_1 AS (\n  {INNER}\n)\nSELECT m.id FROM turn AS m WHERE EXISTS (SELECT 1"
        " FROM read_1 AS r WHERE r.parent = m.id AND r.parent IN (SELECT m.id FROM turn AS m))"
    )
    assert share_keyed_reads((ONE, of_view), views(), dialect="duckdb").relations == ()
    held = frozenset({"turn"})
    sharing = share_keyed_reads((ONE, of_view), views(), dialect="duckdb", held=held)
    (shared,) = sharing.relations
    database.execute(f"CREATE OR REPLACE TEMP TABLE {shared.view} AS {shared.select}")
    for text in (ONE, of_view):
        assert shared.view in sharing.applied(text)
        found = database.sql(sharing.applied(text)).fetchall()
        assert sorted(found) == sorted(database.sql(text).fetchall())
        assert found
