"""Which relation a name means: what the author's own text gives in DuckDB, at every instant.

Reading a query is what the rewriting and its checks share, so neither sees the other's mistake
here: the oracle is another engine's reading.  No two derivations have equal values.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta, timezone

import duckdb
import pytest
from tests.odd_texts import TEXTS
from tests.sql import test_pairs
from tests.sql.database import in_utc

from tapestry.errors import Refusal
from tapestry.sql import Catalog, Column, Scan, Source, View, Window, relation_names, rewrite

START = datetime(2026, 1, 1, tzinfo=timezone.utc)
DAYS = 9
ROWS = {
    "db.m": [(1, 10, 1), (2, 11, 3), (None, 12, 2)],
    "db.r": [(1, 20, 4), (3, 21, 0), (None, 22, 5)],
    "db.u": [(3, 30, 2), (1, 31, 6), (4, 32, 1), (None, 33, 0)],
    "other.m": [(1, 40, 5), (4, 41, 0), (None, 42, 2)],
    "here": [(1, 50, 2), (3, 51, 4), (None, 52, 1)],
    "spark_catalog.third.m": [(1, 60, 3), (3, 61, 1), (5, 62, 0)],
}
"""id, a value, the day of arrival."""
VALUE = {"here": "h", "spark_catalog.third.m": "v"}
"""What the value is called; else w."""
VIEWS = {
    "other.above": "with m as (select * from m where id > 0) select id, w from m",
    "seen": "select id, w from m where id > 0",
    "other.shadowed": "with mm as (select * from m), m as (select * from mm) select id, w from m",
}
CATALOG = Catalog(
    {
        name: Source(
            name,
            (Column("id", "int"), Column(VALUE.get(name, "w"), "int"), Column("ts", "timestamp")),
            "ts",
        )
        for name in ROWS
    }
    | {name: View(name, text, namespace="other") for name, text in VIEWS.items()}
)

QUERIES = (
    # USING behind outer joins
    "select id, r.w as rw, u.w as uw from db.m right join db.r using (id) join db.u using (id)",
    "select id, r.w as rw, u.w as uw from db.m full join db.r using (id) full join db.u using (id)",
    "select id, r.w as rw, u.w as uw from db.m full join db.r using (id) left join db.u using (id)",
    "select id, r.w as rw, u.w as uw from db.m full join db.r using (id)"
    " right join db.u using (id)",
    "select id, r.w as rw, u.w as uw from db.m join db.r using (id) right join db.u using (id)"
    " left join other.m as o using (id)",
    "select id, x.rw, u.w as uw from (select id, r.w as rw from db.m full join db.r using (id)) x"
    " full join db.u using (id)",
    # one name in two schemas
    "select id, w from db.m where not exists (select 1 from other.m where other.m.id = db.m.id)",
    "select id, w from db.m where exists (select 1 from other.m where other.m.id = db.m.id)",
    "select id, w from db.m where id not in"
    " (select other.m.id from other.m where other.m.w > db.m.w)",
    "select db.m.id, db.m.w, other.m.w as ow from db.m join other.m on db.m.id = other.m.id",
    "select db.m.id, m.w from db.m where exists (select 1 from (select * from db.r) m"
    " where m.id = db.m.id)",
    "select id, w from db.m where exists (select 1 from db.m as m_1 where m_1.id < db.m.id)",
    "select id, w from db.m where exists (select 1 from db.m where db.m.id > 1)",
    # names of one, two and three parts
    "select here.id, h, m.w from here join db.m on m.id = here.id",
    "select m.id, m.w, t.v from db.m join spark_catalog.third.m as t on t.id = m.id",
    "select * except (ts) from spark_catalog.third.m"
    " where exists (select 1 from here where id = m.id)",
    "select q.*, r.w from (select id, h from here) q left join db.r on r.id = q.id",
    # CTEs that are called like what they read
    "with m as (select * from db.m where id > 1) select id, w from m",
    "select id, w from other.above",
    "select id, w from other.shadowed",
    "with above as (select * from other.above) select id, w from above",
    "with r as (select * from db.m), m as (select * from r) select id, w from m",
    "with seen as (select id, w from seen where id > 1) select id, w from seen",
    "with here as (select id, h from here where id > 1) select id, h from here",
)


def _visible(connection: duckdb.DuckDBPyConnection, day: int) -> None:
    """The tables and views as they are at the end of a day."""
    connection.execute("ATTACH IF NOT EXISTS ':memory:' AS spark_catalog")
    for schema in ("memory.db", "memory.other", "spark_catalog.third"):
        connection.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE; CREATE SCHEMA {schema}")
    connection.execute("USE memory.other")
    for name, rows in ROWS.items():
        value = VALUE.get(name, "w")
        connection.execute(f"CREATE TABLE {name} (id INT, {value} INT, ts TIMESTAMPTZ)")
        there = [(i, w, START + timedelta(days=d)) for i, w, d in rows if d <= day]
        if there:
            connection.executemany(f"INSERT INTO {name} VALUES (?, ?, ?)", there)
    for name, text in VIEWS.items():
        connection.execute(f"CREATE VIEW {name} AS {text}")


def _expected(query: str) -> Iterator[tuple[object, ...]]:
    connection, known = in_utc(), set()
    for day in range(DAYS):
        _visible(connection, day)
        for row in connection.execute(query).fetchall():
            if row not in known:
                known.add(row)
                yield (*row, START + timedelta(days=day))


def _delivered(query: str, ends: tuple[int, ...]) -> Iterator[tuple[object, ...]]:
    connection, rewriting, tau = in_utc(), rewrite(query, CATALOG), None
    _visible(connection, DAYS)
    scans = {name: Scan(name, "ts", "rowid") for name in rewriting.sources}
    for day in ends:
        t = START + timedelta(days=day)
        text = rewriting.incremental(Window(tau, t), scans, "duckdb")
        yield from connection.execute(text).fetchall()
        tau = t


@pytest.mark.parametrize("query", QUERIES)
def test_a_name_means_what_it_means_in_sql(query: str) -> None:
    expected = sorted(_expected(query), key=repr)
    assert expected
    for ends in ((DAYS,), (1, 3, 4, DAYS), tuple(range(DAYS + 1))):
        assert sorted(_delivered(query, ends), key=repr) == expected, ends


REFUSED = (
    (
        "select u.id from db.m left semi join db.r on m.id = r.id right join db.u on u.id = m.id",
        "a RIGHT JOIN after a semi join",
    ),
    (
        "select u.id from db.m left anti join db.r on m.id = r.id full join db.u on u.id = m.id",
        "a FULL JOIN after an anti join",
    ),
    (
        "select m.id from db.m left semi join db.r left semi join db.u"
        " on r.id = u.id on m.id = r.id",
        "SEMI JOIN on the right side of another join",
    ),
    (
        "with a as (select * from b), b as (select id from db.r) select id from a",
        "relation b is not known",
    ),
    ("with a as (select * from a) select id from a", "relation a is not known"),
)


@pytest.mark.parametrize(("query", "reason"), REFUSED)
def test_what_cannot_be_told_is_refused(query: str, reason: str) -> None:
    with pytest.raises(Refusal, match=reason):
        rewrite(query, CATALOG)


def test_a_semi_join_before_a_left_join_stays() -> None:
    query = "select m.id from db.m left semi join db.r on m.id = r.id left join db.u on u.id = m.id"
    assert "EXISTS" in rewrite(query, CATALOG).canonical


@pytest.mark.parametrize("alias", ["_at", "_rank", "_f", "_k"])
def test_an_alias_of_ours_is_the_author_s_too(alias: str) -> None:
    query = (
        "select x.id, x.w from db.m as x where not exists"
        " (select 1 from db.r as y where y.id = x.id and now() < y.ts + interval 2 days)"
    )
    ends = (1, 3, DAYS)
    other = query.replace("x.", f"{alias}.").replace("as x", f"as {alias}")
    found = sorted(_delivered(other, ends), key=repr)
    assert found == sorted(_delivered(query, ends), key=repr)


def test_a_cte_does_not_hide_what_it_reads() -> None:
    assert relation_names("with m as (select * from m) select * from m") == ("m",)
    assert relation_names(
        "with a as (select 1 from b), b as (select 1 from a) select * from b"
    ) == ("b",)


ODD_NAMES = ("$a", "$1", "@a", ":a", "?", "{}", "{{", "a -- b", "a /* b */", "`a`", "'", "a.b")


@pytest.mark.parametrize("name", [*ODD_NAMES, *(text for text in TEXTS.values() if text)])
def test_a_column_of_a_source_has_any_name(name: str) -> None:
    """What would be something else in SQL is a name, and not that of a column beside it."""
    source = test_pairs.CATALOG.relations["messages"]
    assert isinstance(source, Source)
    other = Column("a", "int")
    columns = (*source.columns, other, Column(name, "string"))
    catalog = replace(test_pairs.CATALOG, relations={"messages": replace(source, columns=columns)})
    quoted = "`" + name.replace("`", "``") + "`"
    sql = f"select a, {quoted} from messages where now() > due"
    assert rewrite(sql, catalog).columns == ("a", name)
    assert rewrite("select * from messages where now() > due", catalog).columns[-2:] == ("a", name)


@pytest.mark.parametrize("dialect", ["spark", "duckdb", "postgres"])
@pytest.mark.parametrize("odd", ["p\nq", "p\n  q\n", "\n"])
def test_ends_of_lines_in_texts_and_names_stay(odd: str, dialect: str) -> None:
    """The SQL is indented, what stands between quotes is not: in a CTE neither."""
    sql = (
        f"select m.id, '{odd}' as c, m.`{odd}` from messages m where now() > m.due and exists ("
        f"select 1 from messages r where r.parent = m.id and r.author = '{odd}'"
        f" and r.`{odd}` = m.`{odd}` and now() > r.due and now() < r.ts + interval 3 days)"
    )
    source = test_pairs.CATALOG.relations["messages"]
    assert isinstance(source, Source)
    columns = (*source.columns, Column(odd, "string"))
    catalog = replace(test_pairs.CATALOG, relations={"messages": replace(source, columns=columns)})
    scans = {"messages": Scan("db.messages", "arrived", "rowid", late=True)}
    text = rewrite(sql, catalog).incremental(Window(None, START), scans, dialect)
    quote = "`" if dialect == "spark" else '"'
    literal = odd.replace("\n", "\\n") if dialect == "spark" else odd
    assert text.count(" AS (") > 1
    for mark, kept in (("'", literal), (quote, odd)):
        assert f"{mark}{kept}{mark}" in text
        changed = {part for part in text.split(mark)[1::2] if part.split() == ["p", "q"]} - {kept}
        assert not changed
