"""Forms of SQL beside SELECT, JOIN and WHERE: each run's rows are what the definition says.

Each query is run in DuckDB in several windows and in one, beside the keyed answers of the
verification, which reads the text by itself, and beside the plain static answers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import duckdb
import pytest
from tests.sql.database import in_utc
from tests.sql.test_pairs import END, START

from tapestry.sql import Catalog, Column, Scan, Source, Window, rewrite, static_answer
from tapestry.verification.definition import Definition

ENDS = (None, START, START + timedelta(hours=30), START + timedelta(days=3), END)
BEGIN = START + timedelta(hours=6)  # the earliest arrival
INSTANTS = [
    START + timedelta(hours=6 * n, microseconds=tick) for n in range(24) for tick in (-1, 0, 1)
]
COLUMNS = {
    "m": ("id int", "k int", "tags array<string>", "ts timestamp"),
    "r": ("rid int", "k int", "tag string", "ts timestamp"),
    "x": ("k int", "name string"),
}
ROWS = {
    "m": "(1, 1, ['a', 'b', 'a'], '2026-01-01 06:00:00'), (1, 1, ['a', 'b', 'a'],"
    " '2026-01-01 06:00:00'), (2, NULL, [], '2026-01-02 00:00:00'), (3, 2, NULL,"
    " '2026-01-02 18:00:00'), (4, 2, [NULL, 'c'], '2026-01-03 00:00:00'), (5, 1, ['a'], NULL)",
    "r": "(1, 1, 'a', '2026-01-02 00:00:00'), (2, 2, 'c', '2026-01-01 06:00:00'),"
    " (3, NULL, 'b', '2026-01-04 12:00:00'), (4, 1, NULL, '2026-01-03 00:00:00')",
    "x": "(1, 'one'), (2, 'two'), (2, 'two'), (NULL, NULL)",
}
TYPES = {"int": "INTEGER", "string": "VARCHAR", "timestamp": "TIMESTAMPTZ"}
TYPES["array<string>"] = "VARCHAR[]"


def _source(name: str) -> Source:
    columns = tuple(Column(*column.split(" ", 1)) for column in COLUMNS[name])
    return Source(name, columns, None if name == "x" else "ts")


CATALOG = Catalog({name: _source(name) for name in COLUMNS})
SCANS = {name: Scan(f"t_{name}", None if name == "x" else "ts", "rowid") for name in COLUMNS}


def filled() -> duckdb.DuckDBPyConnection:
    """A database with the tables of the queries."""
    database = in_utc()
    for name, columns in COLUMNS.items():
        typed = ", ".join(f"{c.split()[0]} {TYPES[c.split()[1]]}" for c in columns)
        database.execute(f"CREATE TABLE t_{name} ({typed})")
        database.execute(f"INSERT INTO t_{name} VALUES {ROWS[name]}")
    return database


def agrees(sql: str, ends: Sequence[datetime | None] = ENDS) -> None:
    """The runs of a query give its answers, each with its first instant."""
    database, rewriting = filled(), rewrite(sql, CATALOG)
    scans = {name: SCANS[name] for name in rewriting.sources}
    rows: list[tuple[Any, ...]] = []
    for tau, t in pairwise(ends):
        assert t is not None
        rows += _fetched(database, rewriting.incremental(Window(tau, t), scans, dialect="duckdb"))
    whole = rewriting.incremental(Window(None, END), scans, dialect="duckdb", keyed=True)
    keyed = _fetched(database, whole)
    assert Counter(rows) == Counter((*row[:-2], row[-1]) for row in keyed), "whatever the windows"
    definition = Definition.read(sql, CATALOG, scans, "duckdb")
    instants = [one for one in INSTANTS if BEGIN <= one <= END]
    ctes = [definition.instants(instants), ("answers", definition.answers())]
    names = ", ".join(f'"{name}"' for name in definition.columns)
    firsts = f"SELECT {names}, _key, MIN(_s) FROM answers GROUP BY {names}, _key"
    assert Counter(_fetched(database, definition.statement(ctes, firsts))) == Counter(keyed)
    threaded = f"SELECT _s, {names} FROM answers"
    found = Counter(_fetched(database, definition.statement(ctes, threaded)))
    for instant in instants:
        here = static_answer(sql, CATALOG, instant, scans, "duckdb")
        plain = Counter(_fetched(database, f"SELECT {names} FROM ({here})"))
        mine = Counter({row[1:]: n for row, n in found.items() if row[0] == instant})
        assert mine == plain, instant
    assert rows


def _fetched(database: duckdb.DuckDBPyConnection, sql: str) -> list[tuple[Any, ...]]:
    def plain(cell: Any) -> Any:
        return tuple(cell) if isinstance(cell, list) else cell

    return [tuple(map(plain, row)) for row in database.execute(sql).fetchall()]


@pytest.mark.parametrize(
    "sql",
    [
        "select * from m natural join x",
        "select rid, name from r natural left join x",
        "select * from (select k, id from m) q natural full join x",
        "select id from m where exists (select 1 from r natural join x where r.rid = m.id)",
        "select distinct name from (select * from m) natural join x sort by name",
        "with c as (select k, lower(name) as label from x) select * from r natural join c"
        " cluster by k",
        "select id from m distribute by k sort by id",
    ],
)
def test_a_natural_join_and_an_order_of_partitions(sql: str) -> None:
    agrees(sql)


GENERATORS = [
    "select id, tag from m lateral view explode(tags) t as tag",
    "select id, tag from m lateral view outer explode(tags) t as tag",
    "select id, place, tag from m lateral view outer posexplode(m.tags) t as place, tag"
    " where id < 5",
    "select id, explode(tags) as tag from m where now() >= ts + interval 1 day",
    "select id, explode_outer(tags) as tag from m",
    "select id, posexplode(tags) as (n, tag) from m",
    "select distinct explode(tags) as tag from m",
    "select m.id, t.tag from m, lateral explode(m.tags) as t(tag)",
    "select * from m, lateral explode(m.tags) as t(tag), (select name from x) y",
    "select * from m left join lateral explode(m.tags) as t(tag) on true",
    "select m.id, r.rid from m join lateral explode(m.tags) as t(tag) join r on r.tag = t.tag",
    "select m.id, r.rid from m join r on r.k = m.k lateral view explode(m.tags) t as tag"
    " where t.tag = r.tag",
    "select m.id, a.tag, b.n from m lateral view explode(tags) a as tag"
    " lateral view outer posexplode(tags) b as n, same",
    "select m.id, b.x from m lateral view posexplode(tags) a as n, tag"
    " lateral view explode(array(a.tag, upper(a.tag))) b as x",
    "select q.id, tag from (select id, array(id, k) as pair from m) q"
    " lateral view explode(q.pair) t as tag",
    "select q.id, q.tag from (select id, tag from m lateral view explode(tags) t as tag) q"
    " where not exists (select 1 from r where r.tag = q.tag)",
    "select q.tag from (select id, explode(tags) as tag from m) q left join r on r.tag = q.tag",
    "select rid from r where exists (select 1 from m lateral view explode(tags) t as tag"
    " where t.tag = r.tag)",
    "select rid from r where tag in (select explode(tags) from m)",
    "select rid from r where not exists (select 1 from m lateral view explode(tags) t as tag"
    " where t.tag = r.tag and now() < m.ts + interval 1 day)",
    "select id, tag from m lateral view explode(tags) t as tag union all select rid, tag from r",
    "select tag from m lateral view explode(tags) t as tag except select tag from r",
    "select r.rid, t.tag from r left join m on m.k = r.k"
    " lateral view outer explode(m.tags) t as tag",
    "select r.rid, t.tag from r left join m on m.k = r.k lateral view explode(m.tags) t as tag",
    "select r.rid, t.name from r left join x on x.k = r.k"
    " lateral view outer explode(array(x.name)) t as name",
    "select id, e.x, e.y from m lateral view inline(array(struct(id as a, k as b),"
    " struct(k, id))) e as x, y",
    "select id, stack(2, id, k, k) as (a, b) from m",
    "select id, x from m cross join explode(array(1, 2)) as t(x)",
    "select t.x, m.id from explode(array(1, 2)) as t(x) join m on m.k = t.x",
    "select id, v.name from m join (values (1, 'a'), (2, 'b'), (2, 'b')) as v(k, name)"
    " on v.k = m.k",
    "select id, name from m left join values (1, 'a'), (NULL, 'b') as v(k, name) on v.k = m.k",
    "with v as (select * from values (1), (2)) select m.id, v.col1 from m, v",
    "with v(k) as (values (1), (7)) select id from m where k not in (select k from v)",
    "select n, v, ts from m unpivot (v for n in (k, id as number))",
    "select * from r unpivot include nulls (v for n in (k, rid)) as u where u.v is null",
]


@pytest.mark.parametrize("sql", GENERATORS)
def test_a_generator_makes_rows_of_a_row(sql: str) -> None:
    agrees(sql)
