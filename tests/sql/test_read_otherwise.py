"""Texts that sqlglot would read otherwise than Spark does, or write otherwise than it was read."""

from __future__ import annotations

import pytest
from tests.sql.test_refusals import CATALOG

from tapestry.errors import Refusal
from tapestry.sql import rewrite

REFUSED = {
    "with a as (select id from db.old) (with a as (select id from db.messages) select id from a)": (
        "two CTEs have one name"
    ),
    "select id from db.messages m where exists (with c as (select id from db.old o where o.at ="
    " m.ts) select 1 from db.old m where exists (select 1 from c where c.id = m.id))": (
        "different aliases"
    ),
    "from db.messages |> select distinct id": "pipe syntax",
    "select id from db.messages |> where id = 1": "pipe syntax",
    "select id from db.messages where exists (select 1 from db.old fetch first row only)": "LIMIT",
    "(((select id from db.messages)) limit 4) union select 1 as id": "LIMIT",
    "select id from db.messages where id in (((select id from db.old)) limit 2)": "LIMIT",
    "select id from db.messages where id not in ((select id from db.old))": "two parentheses",
    "select id from db.messages where id in ((with o as (select 1 as id) select id from o))": (
        "two parentheses"
    ),
    "(select id from db.messages limit 2) limit 3": "outside of the parentheses",
    "(select id from db.messages) sort by id": "outside of the parentheses",
    "(select id from db.messages) where id = 1": "outside of the parentheses",
}


@pytest.mark.parametrize("sql", REFUSED)
def test_they_are_refused(sql: str) -> None:
    with pytest.raises(Refusal) as caught:
        rewrite(sql, CATALOG)
    assert REFUSED[sql] in str(caught.value)
