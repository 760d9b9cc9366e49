"""Columns that read the clock: evaluated at the first instant of an answer, and no part of it."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from itertools import pairwise

import duckdb
import pytest
from tests.sql.database import in_utc
from tests.sql.test_pairs import CATALOG, END, SCANS, START

from tapestry.errors import Refusal
from tapestry.sql import Window, rewrite, static_answer
from tapestry.verification.definition import Definition

MICRO = timedelta(microseconds=1)
ENDS = [None, START, START + timedelta(hours=30), START + timedelta(days=3), END]
SHAPES = [
    "select id, now() as at from messages",
    "select id, current_timestamp() - interval 1 day as at, date_trunc('DAY', now()) as day,"
    " current_date() as d, cast(now() as string) as s from messages where now() >= due",
    "select m.id, datediff(current_date(), m.due) as age from messages m where not exists"
    " (select 1 from messages r where r.parent = m.id and r.ts > now() - interval 1 day)",
    "select q.id, q.at from (select id, due, now() as at from messages) q where q.at >= q.due",
    "with c as (select id, parent, now() as at from messages) select c.id, d.at from c"
    " join c d on d.parent = c.id and d.at >= timestamp'2026-01-03'",
    "select m.id, q.at from messages m left join (select parent, now() as at from messages) q"
    " on q.parent = m.id",
    "select id, now() as at from messages union all select parent, ts from messages",
    "select id, now() as at from messages where id = 1 or due < now() or author = 'ann' or id > 3"
    " or now() > ts + interval 1 day",
    "select distinct author, now() as at from messages where now() >= due",
    "select distinct author, due, datediff(current_date(), due) as at from messages",
    "select author, date_trunc('DAY', now()) as at from messages group by author, 2",
    "select author, now() as at from messages union select author, now() from authors",
    "select author, now() as at from messages except select author, now() from authors",
    "select id, at from (select id, now() as at from messages) q where exists"
    " (select 1 from messages r where r.parent = q.id and r.due <= q.at)",
    "select distinct author, q.at from (select author, now() as at from messages) q",
    "select id, now() as at from (select id, now() > due as late from messages) q where late",
    "with c as (select now() as t) select id, t from messages, c where due < t",
    "select id, now() as at from messages union all select distinct level, now() from authors",
]


def _filled() -> duckdb.DuckDBPyConnection:
    database = in_utc()
    database.execute("CREATE SCHEMA db")
    database.execute(
        "CREATE TABLE db.messages AS SELECT id, parent, author, due::TIMESTAMPTZ AS due,"
        " ts::TIMESTAMPTZ AS ts FROM (VALUES"
        " (1, NULL, 'ann', '2026-01-03 00:00:00', '2026-01-01 06:00:00'),"
        " (2, 1, 'bob', NULL, '2026-01-02 00:00:00'),"
        " (3, 1, 'ann', '2026-01-02 12:00:00', '2026-01-02 18:00:00'),"
        " (4, 2, NULL, '2026-01-05 00:00:00', '2026-01-03 00:00:00'),"
        " (4, 2, NULL, '2026-01-05 00:00:00', '2026-01-03 00:00:00'))"
        " v(id, parent, author, due, ts)"
    )
    database.execute("CREATE TABLE db.authors AS SELECT 'bob' AS author, 7 AS level")
    return database


@pytest.mark.parametrize("sql", SHAPES)
def test_an_audit_column_is_evaluated_at_the_first_instant(sql: str) -> None:
    database, rewriting = _filled(), rewrite(sql, CATALOG)
    assert rewriting.audit
    rows = []
    for tau, t in pairwise(ENDS):
        assert t is not None
        text = rewriting.incremental(Window(tau, t), SCANS, dialect="duckdb")
        rows += database.execute(text).fetchall()
    whole = rewriting.incremental(Window(None, END), SCANS, dialect="duckdb")
    assert Counter(rows) == Counter(database.execute(whole).fetchall()), "whatever the windows"
    assert rows
    for *values, first in rows:
        here = static_answer(sql, CATALOG, first, SCANS, "duckdb")
        assert tuple(values) in database.execute(here).fetchall(), (values, first)
    bare = Counter(tuple(v for v, n in zip(row, rewriting.columns, strict=False)
                         if n in rewriting.values) for row in rows)  # fmt: skip
    assert bare == _answers(sql, database)


def _answers(sql: str, database: duckdb.DuckDBPyConnection) -> Counter[tuple[object, ...]]:
    """The values of every answer, each as often as there are answers with them."""
    definition = Definition.read(sql, CATALOG, SCANS, "duckdb")
    hours = [START + timedelta(hours=6 * n) + tick for n in range(21) for tick in (-MICRO, MICRO)]
    instants = [*hours, *(one + MICRO for one in hours), START + timedelta(days=5)]
    ctes = [definition.instants(instants), ("answers", definition.answers())]
    names = ", ".join(definition.columns)
    query = f"SELECT {names} FROM (SELECT DISTINCT {names}, _key FROM answers) AS a"
    return Counter(database.execute(definition.statement(ctes, query)).fetchall())


def test_an_audit_column_is_named() -> None:
    rewriting = rewrite("select now() as At, id from messages", CATALOG)
    assert (rewriting.columns, rewriting.audit, rewriting.values) == (
        ("At", "id"),
        ("At",),
        ("id",),
    )


@pytest.mark.parametrize(
    "sql",
    [
        "select id from messages where due in (select now() from authors)",
        "select q.id from (select distinct id, now() as at from messages) q",
        "select id from messages m where exists (select 1 from (select distinct now() as at) q)",
        "select id, at from (select id, now() as at from messages except select 1, now()) q",
        "select now() as at from messages",
        "select distinct id, hour(now()) + level as h from messages, authors",
    ],
)
def test_the_clock_is_never_compared_as_a_value(sql: str) -> None:
    with pytest.raises(Refusal):
        rewrite(sql, CATALOG)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("max(ts)", "MAX(messages.ts)"),
        ("max(ts) filter (where id > 1)", "MAX(messages.ts) FILTER(WHERE"),
    ],
)
def test_what_has_to_be_listed_can_be(value: str, shown: str) -> None:
    sql = f"select author, datediff(now(), {value}) as age from messages group by author"
    with pytest.raises(Refusal) as caught:
        rewrite(sql, CATALOG)
    assert caught.value.hint.startswith(f"list {shown}")
    rewrite(sql.replace(" as age", f" as age, {value} as last"), CATALOG)
