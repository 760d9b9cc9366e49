"""A name, or a star, that two columns of one relation have: refused as Spark refuses it.

What Spark says of each query was asked of Spark 4.1: it refuses all of ``AMBIGUOUS``, and accepts
those of ``ONE``.
"""

from __future__ import annotations

import pytest

from tapestry.errors import Refusal
from tapestry.sql import Catalog, Column, Source, View, rewrite

CATALOG = Catalog(
    {
        "m": Source(
            "m", (Column("id", "int"), Column("v", "int"), Column("ts", "timestamp")), "ts"
        ),
        "o": Source("o", (Column("id", "int"), Column("at", "timestamp")), None),
        "e": View("e", "select id, v as ID, ts from m"),
    }
)
TWO = "(select id, v as Id, ts from m) x"

AMBIGUOUS = (
    f"select x.id from {TWO}",
    f"select x.ID from {TWO}",
    f"select id from {TWO}",
    f"select ts from {TWO} where id > 3",
    f"select ts from {TWO} where x.`ID` > 3",
    f"select ts from {TWO} order by id",
    f"select ts from {TWO} join o on x.id = o.id",
    f"select ts from {TWO} where exists (select 1 from o where o.id = x.id)",
    f"select ts from {TWO} where ts in (select at from o where o.id = x.id)",
    f"select o.at from o, m where o.id in (select id from {TWO}) and m.id = o.id",
    f"select distinct id from {TWO}",
    "select id from e",
    "with c as (select id, v as id, ts from m) select id from c",
    "with c as (select id, v as id, ts from m) select ts from c where C.ID = 1",
    "with c(a, A) as (select id, v from m) select a from c",
    "select a from (select id, v from m) c(a, a)",
    "select x.id from (select id, id from m) x(id, id)",
    "select x.id from (select m.*, o.* from m join o using (id)) x",
    "select x.id from (select m.id, m.id as id from m) x",
    "select x.id from (select *, id as id from m) x",
    "select x.id from (select a.id, a.id, b.id from m a join m b) x",
    "select id from (select id, v as id from m union all select v as k, id from m) x",
    "select j from (select id as k, v as k, k + 1 as j from m) x",
    "select * except (id) from (select id, v as id, ts from m) x",
)

STARS = (
    f"select x.* from {TWO}",
    f"select * from {TWO}",
    f"select hash(*) as h from {TWO}",
    f"select hash(x.*) as h from {TWO}",
    f"select struct(x.*) as s from {TWO}",
    f"select y.ts from (select * from {TWO}) y",
    f"select ts from {TWO} join o using (id)",
    "select * from e",
    "with j as (select * from m join o on m.id = o.id), k as (select * from j) select ts from k",
    "with c(a, A) as (select id, v from m) select * from c",
)
"""Spark has two columns of one name of those, and of USING takes the first one."""

ONE = (
    f"select x.ts from {TWO}",
    f"select o.at from o, m where exists (select * from {TWO})",
    "select 1 as one from e",
    "select x.id from (select m.id, id from m) x",
    "select x.id from (select *, id from m) x",
    "select x.id from (select *, (id) from m) x",
    "with x as (select *, id from m) select a.id from x a join x b on a.v = b.v",
    "select b from (select id, v as id from m) c(a, b)",
    "select * from (select id, v as id from m) c(a, b)",
    "select id from (select * from m join o using (id)) x",
    "select j from (select v as id, ts as id, id + 1 as j from m) x",
    "select ts from (select * from m join o on m.id = o.id) x",
)


@pytest.mark.parametrize("sql", [*AMBIGUOUS, *STARS])
def test_two_columns_of_one_name_are_refused(sql: str) -> None:
    with pytest.raises(Refusal, match=r"columns called|list are called") as caught:
        rewrite(sql, CATALOG)
    assert caught.value.code == "doubled-column"
    assert caught.value.where


@pytest.mark.parametrize("sql", ONE)
def test_a_name_that_stands_for_one_column_is_read(sql: str) -> None:
    assert rewrite(sql, CATALOG).columns


def test_the_refusal_of_a_star_names_the_columns() -> None:
    with pytest.raises(Refusal) as caught:
        rewrite("select * from (select id, v as id, ts from m) x", CATALOG)
    assert "two columns called id: x has them" in str(caught.value)
    assert "m.id AS id, m.v AS id" in str(caught.value)
