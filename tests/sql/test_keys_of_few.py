"""What few rows imply for what they are joined to: which conditions are added, which not."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest
from sqlglot import parse_one

from tapestry.sql import Catalog, Column, Rewriting, Scan, Source, Window, rewrite

COLUMNS = (
    Column("id", "int"),
    Column("parent", "int"),
    Column("code", "string"),
    Column("ts", "timestamp"),
)
CATALOG = Catalog({"messages": Source("messages", COLUMNS, "ts")})
SCANS = {"messages": Scan("db.messages", "ts", "row_id")}
WINDOW = Window(
    datetime(2026, 1, 2, tzinfo=timezone.utc), datetime(2026, 1, 3, tzinfo=timezone.utc)
)
CHAIN = (
    "select m.id from messages m, messages r, messages s where r.parent = m.id and s.parent = r.id"
)
ASSUMED = ("r.ts >= m.ts", "s.ts >= r.ts")


def keys(rewriting: Rewriting, **more: bool) -> list[str]:
    """The columns that are said to be among the keys of the few."""
    lines = rewriting.incremental(WINDOW, SCANS, few=True, **more).splitlines()
    return [
        line.split(" IN (")[0].strip().removeprefix("AND ")
        for line in lines
        if line.startswith("  AND") and " IN (" in line
    ]


def test_only_row_ids_need_help() -> None:
    assert keys(rewrite(CHAIN, CATALOG, ASSUMED)) == []
    inner = rewrite(CHAIN, CATALOG, ASSUMED).incremental(WINDOW, SCANS, few=True, keyed=True)
    assert [line.split(" IN (")[0].strip() for line in inner.splitlines() if " IN (" in line] == [
        "AND r.id",
        "AND m.id",
        "AND r.id",
    ]


@pytest.mark.parametrize(
    "condition", ["r.parent < m.id", "r.parent = m.id + s.id", "r.code = m.id", "true"]
)
def test_only_equalities_of_one_type_between_two_tables_say_something(condition: str) -> None:
    query = CHAIN.replace("r.parent = m.id", condition)
    assert keys(rewrite(query, CATALOG, ASSUMED), keyed=True) == []


def test_nothing_is_said_where_the_rows_may_be_many() -> None:
    rewriting = rewrite(CHAIN, CATALOG, ASSUMED)
    assert " IN (" not in rewriting.incremental(WINDOW, SCANS)
    assert " IN (" not in rewriting.incremental(Window(None, WINDOW.t), SCANS, few=True)


def order(query: str) -> list[str]:
    """The tables of the one branch in the order of its FROM clause."""
    sql = rewrite(query, CATALOG, ASSUMED).incremental(WINDOW, SCANS)
    branch = parse_one(sql, dialect="spark")
    relations = [branch.args["from_"].this, *(join.this for join in branch.args["joins"])]
    return [relation.alias for relation in relations]


def test_no_table_is_multiplied_with_the_few_that_a_later_one_joins_to_them() -> None:
    # With a hint Spark keeps the order of FROM: s, m would be all pairs of them.
    assert order(CHAIN) == ["s", "r", "m"]
    # A comparison with a constant joins nothing.
    assert order(f"{CHAIN} and m.code = 'x'") == ["s", "r", "m"]
    # What nothing joins comes last.
    assert order(CHAIN.replace("s.parent = r.id", "s.parent < r.id")) == ["s", "m", "r"]
