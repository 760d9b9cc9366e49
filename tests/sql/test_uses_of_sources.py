"""Which rows of a source a use of it needs: the conditions that it has wherever it stands."""

from __future__ import annotations

import pytest

from tapestry.sql import Catalog, Column, Source, rewrite

COLUMNS = ("id int", "parent int", "amount decimal(15,2)", "name string", "ts timestamp")
TABLE = Source("db.t", tuple(Column(*one.split(" ")) for one in COLUMNS), "ts")
STATIC = Source("db.d", tuple(Column(*one.split(" ")) for one in COLUMNS[:4]), None)
CATALOG = Catalog({"db.t": TABLE, "db.d": STATIC})

CASES = {
    "a conjunct on one table alone": (
        "select a.id from db.t a join db.t b on b.parent = a.id"
        " where a.amount > 10 and b.id <> a.id",
        {"a": ("`amount` > 10",), "b": ()},
    ),
    "comments say nothing of rows": (
        "select a.id from db.t a where a.amount > 10 -- much\n and a.name = /* who */ 'x'",
        {"a": ("`amount` > 10", "`name` = 'x'")},
    ),
    "what all alternatives have": (
        "select a.id from db.t a where a.amount > 10 and (a.name = 'x' or a.ts < now())",
        {"a": ("`amount` > 10",)},
    ),
    "alternatives of one table are one condition": (
        "select a.id from db.t a where a.name = 'x' or a.amount > 10",
        {"a": ("`name` = 'x' OR `amount` > 10",)},
    ),
    "under exists": (
        "select a.id from db.t a where exists (select 1 from db.t b where b.parent = a.id"
        " and b.name = 'x')",
        {"a": (), "b": ("`name` = 'x'",)},
    ),
    "under not exists the rows that would hinder": (
        "select a.id from db.t a where a.name = 'y' and not exists (select 1 from db.t b"
        " where b.parent = a.id and b.name = 'x' and a.amount > 1)",
        {"a": ("`name` = 'y'",), "b": ("`name` = 'x'",)},
    ),
    "a clock says nothing of rows": (
        "select a.id from db.t a where a.ts < now() - interval 1 day and a.amount > 10",
        {"a": ("`amount` > 10",)},
    ),
    "a function of its own columns": (
        "select a.id from db.t a where upper(a.name) = 'X' and coalesce(a.parent, 0) > 1",
        {"a": ("COALESCE(`parent`, 0) > 1", "UPPER(`name`) = 'X'")},
    ),
    "a left join's table by its ON alone": (
        "select a.id, b.id as b from db.t a left join db.t b on b.parent = a.id and b.name = 'x'"
        " where a.amount > 10",
        {"a": ("`amount` > 10",), "b": ("`name` = 'x'",)},
    ),
    "groups": (
        "select a.name, count(*) as n from db.t a where a.amount > 10 group by a.name"
        " having count(*) > 3",
        {"a": ("`amount` > 10",)},
    ),
    "a static table is no use": (
        "select a.id from db.t a join db.d d on d.id = a.id where d.name = 'x'",
        {"a": ()},
    ),
}


@pytest.mark.parametrize("title", CASES)
def test_conditions_of(title: str) -> None:
    sql, wanted = CASES[title]
    found = {use.written: use.conditions for use in rewrite(sql, CATALOG).uses}
    assert found == wanted


def test_a_left_join_under_where_is_not_narrowed_by_it() -> None:
    """b.id is NULL where b has no row for which ON holds, not where it has one with another id."""
    sql = "select a.id from db.t a left join db.t b on b.parent = a.id where b.name is null"
    assert all(use.conditions == () for use in rewrite(sql, CATALOG).uses if use.written == "b")


def test_the_columns_that_the_query_reads() -> None:
    sql = "select a.id from db.t a where a.amount > 10 and a.ts < now()"
    assert [use.columns for use in rewrite(sql, CATALOG).uses] == [("amount", "id", "ts")]
