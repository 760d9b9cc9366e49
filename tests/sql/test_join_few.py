"""Few rows joined one table after the other: the same answers, and each join small."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta, timezone

import duckdb
import pytest
from sqlglot import exp, parse_one
from tests.sql.database import in_utc

from tapestry.sql import Catalog, Column, Rewriting, Scan, Source, Window, rewrite

COLUMNS = (
    Column("id", "int"),
    Column("parent", "int"),
    Column("r_id", "int"),  # r.id and the r_id of a table without a name meet
    Column("odd name", "string"),
    Column("ts", "timestamp"),
)
CATALOG = Catalog({"messages": Source("messages", COLUMNS, "ts")})
SCANS = {"messages": Scan("messages", "ts", "rowid")}
BEGIN = datetime(2026, 1, 1, tzinfo=timezone.utc)
CHAIN = "messages m, messages r, messages s where r.parent = m.id and s.parent = r.id"
FOUR = f"{CHAIN.replace(' where', ', messages u where')} and u.parent = s.id"
STAR = "messages m, messages r, messages s where r.parent = s.id and m.parent = s.id"
QUERIES = {
    "a chain": (f"select m.id, r.id as r, s.id as s from {CHAIN}", 1),
    "a longer chain": (f"select m.id, r.id as r, s.id as s, u.id as u from {FOUR}", 2),
    "a star": (f"select m.id, r.id as r, s.id as s from {STAR}", 1),
    "nothing but an equality of two": (
        "select m.id, s.r_id from messages m, messages s where s.parent = m.id",
        0,
    ),
    "names that meet": (f"select r.id, s.r_id, r.r_id as x, m.`odd name` as o from {CHAIN}", 1),
    "an alias that is ours": (
        f"select near.id, r.id as r from {CHAIN}".replace(" m,", " near,").replace(
            "m.id", "near.id"
        ),
        1,
    ),
    "a table that no equality joins": (
        f"select m.id, s.id as s, u.id as u from {FOUR.replace('u.parent = s.id', 'u.id < s.id')}",
        2,
    ),
    "nothing that an equality joins": (
        "select m.id, s.id as s from messages m, messages s where s.parent > m.id",
        0,
    ),
    "a subquery about the few": (
        f"select m.id, s.id as s from {CHAIN} and not exists (select 1 from messages near"
        " where near.parent = s.r_id and near.ts <= m.ts)",
        1,
    ),
    "nothing of the few in the answer": (f"select m.id from {CHAIN} and m.id > 2 and 1 < 2", 1),
    "more than one table on a side": (f"select m.id from {CHAIN} and m.r_id + r.id = s.r_id", 1),
}


@pytest.fixture(scope="module")
def database() -> duckdb.DuckDBPyConnection:
    """A hundred and fifty messages with NULLs, ties and copies."""
    connection = in_utc()
    connection.execute(
        "CREATE TABLE messages AS SELECT nullif(n % 40, 7) AS id,"
        " nullif(hash(n) % 40, 3)::int AS parent, (hash(n * 7) % 40)::int AS r_id,"
        " 'o' || n % 5 AS \"odd name\","
        " TIMESTAMPTZ '2026-01-01 00:00:00+00' + to_hours((n // 2)::int) AS ts"
        " FROM range(150) AS t(n)"
    )
    return connection


@pytest.mark.parametrize("title", QUERIES)
def test_few_or_not_the_answers_are_the_same(
    title: str, database: duckdb.DuckDBPyConnection
) -> None:
    query, near = QUERIES[title]
    rewriting = rewrite(query, CATALOG)
    delivered = 0
    for begin in range(0, 75, 15):
        window = Window(BEGIN + timedelta(hours=begin), BEGIN + timedelta(hours=begin + 15))
        for keyed in (False, True):
            few, many = (
                Counter(
                    database.execute(
                        rewriting.incremental(window, SCANS, "duckdb", few=one, keyed=keyed)
                    ).fetchall()
                )
                for one in (True, False)
            )
            assert few == many
            delivered += len(few)
    assert delivered
    assert near == max(nested(branch) for branch in branches(rewriting))


def branches(rewriting: Rewriting) -> list[exp.Select]:
    """The branches of the query over few rows."""
    window = Window(BEGIN, BEGIN + timedelta(hours=30))
    tree = parse_one(rewriting.incremental(window, SCANS, few=True), dialect="spark")
    tree.set("with_", None)
    found = [one for one in tree.find_all(exp.Select) if one.parent_select is None]
    assert found
    return found


def nested(branch: exp.Select) -> int:
    """How deep small relations stand in each other; each SELECT says which one is small."""
    depth = 0
    while isinstance(branch.args["from_"].this, exp.Subquery):
        (hint,) = branch.args["hint"].expressions
        assert [name.name for name in hint.expressions] == [branch.args["from_"].this.alias]
        branch, depth = branch.args["from_"].this.this, depth + 1
    if branch.args.get("joins"):
        assert (
            branch.args["hint"].expressions[0].expressions[0].name
            == branch.args["from_"].alias_or_name
        )
    return depth
