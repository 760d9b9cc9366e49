"""Sources of which a run reads nothing but what arrived in its window."""

from __future__ import annotations

import pytest

from tapestry.sql import Catalog, Column, Source, rewrite

STREAM = (
    Column("id", "bigint"),
    Column("account", "bigint"),
    Column("amount", "bigint"),
    Column("ts", "timestamp"),
)
OWNERS = (Column("account", "bigint"), Column("owner", "string"))
CATALOG = Catalog(
    {
        "s": Source("s", STREAM, "ts"),
        "z": Source("z", STREAM, "ts"),
        "a": Source("a", OWNERS, None),
    }
)
NARROWED = (
    "select id from s where amount > 5 and account = 3",
    "select s.id, a.owner from s join a on a.account = s.account where s.amount > 5",
    "select id from s where amount > 5 union all select id from s where account = 3",
    "with x as (select id, account from s where amount > 3)"
    " select x.id, a.owner from x join a on a.account = x.account",
    "select id from s where ts > timestamp'2001-02-03 04:05:06.000007+00:00'",
    "select s.id from s where s.ts > now() - interval 1 day or s.amount > 3",
)
WIDE = (
    "select id from s where ts < now() - interval 1 day",
    "select distinct account from s where amount > 5",
    "select s.id from s where s.id in (select account from a)",
    "select s.id, r.id as rid from s join s r on r.account = s.id",
    "select account, count(*) as n from s group by account",
    "select s.id, (select max(owner) from a where a.account = s.account) as o from s",
    "select s.id from s where exists (select 1 from s r where r.id = s.id and r.amount > 3)",
)


@pytest.mark.parametrize("sql", NARROWED)
def test_a_selection_of_new_rows_is_narrowed(sql: str) -> None:
    assert rewrite(sql, CATALOG).narrowed == {"s"}


@pytest.mark.parametrize("sql", WIDE)
def test_what_looks_back_is_not(sql: str) -> None:
    assert "s" not in rewrite(sql, CATALOG).narrowed


def test_two_streams_look_back_at_each_other() -> None:
    sql = "select s.id from s join z on z.account = s.account"
    assert rewrite(sql, CATALOG).narrowed == frozenset()


def test_of_two_streams_beside_each_other_both_are_narrowed() -> None:
    sql = "select id from s where amount > 5 union all select id from z"
    assert rewrite(sql, CATALOG).narrowed == {"s", "z"}
