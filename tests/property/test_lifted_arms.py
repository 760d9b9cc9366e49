"""Arms that are evaluated at instants against the definition: ``Q(s)`` at every microsecond.

The rows of a case lie within thirty microseconds, so that every instant can be asked; queries come
from templates of every class (aggregates, sections 1 to 6), data have NULLs, ties and duplicates.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any, Protocol

import duckdb
import pytest
from tests.seeds import seeds

from tapestry.sql import Rewriting, Window, rewrite
from tapestry.sql.catalog import Catalog, Column, Source
from tapestry.sql.look.static_answer import static_answer
from tapestry.sql.scan import KnownAnswers, Scan

CASES = 40
LAST = 30
ZERO = datetime(2026, 1, 1, tzinfo=timezone.utc)
CATALOG = Catalog(
    {
        name: Source(name, columns, arrival)
        for name, columns, arrival in (
            ("m", (("id", "int"), ("k", "int"), ("v", "int"), ("ts", "timestamp")), "ts"),
            ("r", (("id", "int"), ("k", "int"), ("v", "int"), ("ts", "timestamp")), "ts"),
            ("l", (("k", "int"), ("v", "int")), None),
        )
        for columns in [tuple(Column(*one) for one in columns)]
    }
)
TEMPLATES = (
    "SELECT m.k, count(*) AS c FROM m WHERE {m} GROUP BY m.k",
    "SELECT m.k FROM m WHERE {m} GROUP BY m.k HAVING count(*) >= {n}",
    "SELECT m.k, sum(m.v) AS s, min(m.v) AS a, max(m.v) AS b FROM m WHERE {m} GROUP BY m.k",
    "SELECT m.k % 2 AS p, count(m.v) AS c, count(DISTINCT m.v) AS d FROM m"
    " WHERE {m} GROUP BY m.k % 2",
    "SELECT sum(m.v) AS s FROM m WHERE {m} GROUP BY m.k",
    "SELECT m.k, max(m.ts) AS t FROM m GROUP BY m.k HAVING max(m.ts) < now() - {i}",
    "SELECT m.k, count(*) AS c FROM m GROUP BY m.k HAVING min(m.ts) + {i} <= now()",
    "SELECT m.k, count(*) FILTER (WHERE m.ts > now() - {i}) AS c FROM m GROUP BY m.k",
    "SELECT m.k, sum(CASE WHEN m.ts > now() - {i} THEN m.v ELSE 0 END) AS c FROM m GROUP BY m.k",
    "SELECT count(*) AS c, sum(m.v) AS s FROM m WHERE {m}",
    "SELECT count(m.v) AS c FROM m WHERE {m} HAVING count(*) >= {n}",
    "SELECT max(m.v) AS s, count(*) FILTER (WHERE m.v > {n}) AS c FROM m WHERE {m}",
    "SELECT m.k, r.v, count(*) AS c FROM m JOIN r ON m.k = r.k AND {r} GROUP BY m.k, r.v",
    "SELECT m.k, count(r.id) AS c FROM m LEFT JOIN r ON m.k = r.k AND {r} GROUP BY m.k",
    "SELECT r.k, count(m.id) AS c FROM m RIGHT JOIN r ON m.k = r.k AND {m} GROUP BY r.k",
    "SELECT coalesce(m.k, r.k) AS k, count(*) AS c FROM m FULL JOIN r ON m.k = r.k AND {r}"
    " GROUP BY coalesce(m.k, r.k)",
    "SELECT l.v, count(*) AS c FROM m JOIN l ON m.k = l.k WHERE {m} GROUP BY l.v",
    "SELECT m.id FROM m WHERE m.v >= (SELECT count(*) FROM r WHERE r.k = m.k AND {r})",
    "SELECT m.id, (SELECT max(r.v) FROM r WHERE r.k = m.k AND {r}) AS x FROM m WHERE {m}",
    "SELECT m.id, (SELECT count(*) FROM r WHERE {r}) AS x FROM m",
    "SELECT m.id FROM m WHERE m.k IN (SELECT r.k FROM r WHERE {r} GROUP BY r.k"
    " HAVING count(*) > 1)",
    "SELECT m.id FROM m WHERE m.k NOT IN (SELECT max(r.k) FROM r WHERE {r} GROUP BY r.v)",
    "SELECT m.id FROM m WHERE EXISTS (SELECT 1 FROM r WHERE r.k = m.k AND {r} GROUP BY r.v"
    " HAVING count(*) >= {n})",
    "SELECT m.id FROM m JOIN (SELECT r.k, count(*) AS c FROM r WHERE {r} GROUP BY r.k) AS x"
    " ON x.k = m.k WHERE x.c >= {n}",
    "SELECT m.id, x.c FROM m LEFT JOIN (SELECT r.k, count(*) AS c FROM r WHERE {r} GROUP BY r.k)"
    " AS x ON x.k = m.k",
    "WITH x AS (SELECT m.k, count(*) AS c FROM m WHERE {m} GROUP BY m.k),"
    " y AS (SELECT x.c, count(*) AS n FROM x GROUP BY x.c) SELECT max(y.n) AS n FROM y",
    "SELECT x.k FROM (SELECT m.k, max(m.ts) AS t FROM m GROUP BY m.k) AS x WHERE x.t < now() - {i}",
    "SELECT m.k, m.id, row_number() OVER (PARTITION BY m.k ORDER BY m.v, m.id) AS n FROM m"
    " WHERE {m}",
    "SELECT x.id FROM (SELECT m.id, rank() OVER (PARTITION BY m.k ORDER BY m.v DESC) AS n FROM m"
    " WHERE {m}) AS x WHERE x.n <= {n}",
    "SELECT m.id, sum(m.v) OVER (PARTITION BY m.k) AS s FROM m WHERE {m}",
    "SELECT m.id, lag(m.v) OVER (PARTITION BY m.k ORDER BY m.ts, m.id) AS s FROM m",
    "SELECT m.id, m.v FROM m WHERE {m} ORDER BY m.v DESC, m.id LIMIT {n}",
    "SELECT m.k, count(*) AS c FROM m WHERE {m} GROUP BY m.k ORDER BY c DESC, m.k LIMIT 1",
    "SELECT m.k FROM m WHERE {m} EXCEPT SELECT max(r.k) FROM r WHERE {r}",
    "SELECT m.k, count(*) AS c FROM m WHERE {m} GROUP BY m.k UNION"
    " SELECT r.k, count(*) FROM r WHERE {r} GROUP BY r.k",
    "SELECT 'm' AS w, m.k, count(*) AS c FROM m GROUP BY m.k UNION ALL"
    " SELECT 'r', r.k, count(*) FROM r WHERE {r} GROUP BY r.k",
    "SELECT DISTINCT x.c FROM (SELECT count(*) AS c FROM m WHERE {m} GROUP BY m.k) AS x",
    "SELECT m.k, m.v, count(*) AS c FROM m WHERE {m} GROUP BY GROUPING SETS ((m.k, m.v), (m.k))",
    "SELECT x.k, count(*) AS c FROM (SELECT DISTINCT m.k, m.v FROM m WHERE {m}) AS x GROUP BY x.k",
    "SELECT x.id FROM (SELECT m.id, row_number() OVER (PARTITION BY m.k ORDER BY m.ts DESC, m.id)"
    " AS n FROM m WHERE {m}) AS x WHERE x.n = 1",
    "SELECT m.id FROM m WHERE {m} QUALIFY row_number() OVER (PARTITION BY m.k ORDER BY m.ts DESC,"
    " m.id) = 1",
    "SELECT m.id, EXISTS (SELECT 1 FROM r WHERE r.k = m.k AND {r}) AS e FROM m WHERE {m}",
    "SELECT m.v + 1 AS w, count(*) AS c FROM m WHERE {m} GROUP BY m.v + 1",
    "SELECT m.ts + {i} AS d, count(*) AS c FROM m GROUP BY m.ts + {i}"
    " HAVING now() >= m.ts + {i} + {i}",
    "SELECT m.ts AS d, m.k, count(*) AS c FROM m WHERE now() > m.ts + {i} GROUP BY m.ts, m.k"
    " HAVING now() BETWEEN m.ts + {i} AND m.ts + {i} + {i} OR m.k = 1",
    "SELECT x.k, max(x.c) AS c FROM (SELECT m.k, m.v, count(*) AS c FROM m WHERE {m}"
    " GROUP BY m.k, m.v) AS x GROUP BY x.k",
    "SELECT m.id FROM m WHERE NOT EXISTS (SELECT 1 FROM (SELECT r.k FROM r WHERE {r} LIMIT 2) AS x"
    " WHERE x.k = m.k)",
    "SELECT x.k FROM (SELECT r.k FROM r WHERE {r} ORDER BY r.v LIMIT 3) AS x"
    " WHERE NOT EXISTS (SELECT 1 FROM m WHERE m.k = x.k AND {m})",
    "SELECT x.k FROM (SELECT r.k FROM r WHERE {r} ORDER BY r.v LIMIT 3) AS x EXCEPT"
    " SELECT m.k FROM m WHERE {m}",
    "SELECT m.k, count(*) AS c FROM m JOIN r ON m.k = r.v JOIN l ON l.k = r.v WHERE {r}"
    " GROUP BY m.k",
    "SELECT x.k, max(x.v) AS b FROM (SELECT m.k, m.v FROM m WHERE {m}) AS x GROUP BY x.k"
    " HAVING max(x.v) > (SELECT min(r.v) FROM r WHERE {r})",
    "WITH x AS (SELECT m.id, m.k, m.v FROM m WHERE {m}), y AS (SELECT r.k, r.v FROM r WHERE {r})"
    " SELECT x.id, y.v, rank() OVER (PARTITION BY x.k ORDER BY y.v, x.id) AS n FROM x LEFT JOIN y"
    " ON x.k = y.k",
    "SELECT m.id FROM m WHERE (SELECT max(r.ts) FROM r WHERE r.k = m.k) < now() - {i}",
    "SELECT m.k FROM m GROUP BY m.k HAVING max(m.ts) FILTER (WHERE m.v > 1) < now() - {i}",
    "SELECT x.k FROM (SELECT m.k, min(m.ts) FILTER (WHERE m.v > 1) AS t FROM m GROUP BY m.k) AS x"
    " WHERE x.t + {i} <= now()",
    "SELECT m.id FROM m WHERE (SELECT max(r.ts) FROM r WHERE r.k = m.k AND r.ts + {i} <= now())"
    " <= now() - {i}",
    "SELECT m.id FROM m WHERE now() BETWEEN m.ts AND (SELECT max(r.ts) FROM r WHERE r.k = m.k"
    " AND r.ts + {i} > now()) + {i}",
    # the clock within an aggregate of HAVING, and in an order
    "SELECT m.k FROM m GROUP BY m.k HAVING count(*) FILTER (WHERE m.ts > now() - {i}) >= 2",
    "SELECT m.k, m.ts FROM m GROUP BY m.k, m.ts HAVING now() >= m.ts + {i} AND"
    " sum(CASE WHEN m.ts > now() - {i} THEN 1 ELSE 0 END) BETWEEN 0 AND 1",
    "SELECT m.k, sum(m.v) AS s FROM m GROUP BY m.k ORDER BY max(m.ts) > now() - {i} DESC, m.k"
    " LIMIT {n}",
    "SELECT m.id, rank() OVER (PARTITION BY m.k ORDER BY m.ts + {i} <= now()) AS n FROM m",
    # what takes any of several values
    "SELECT m.k, max_by(m.v, m.id % 2) AS x FROM m WHERE {m} GROUP BY m.k",
    "SELECT m.k, min_by(m.v, m.ts) AS x, any_value(m.v) AS y FROM m WHERE {m} GROUP BY m.k",
    "SELECT m.id, max_by(m.v, m.ts) OVER (PARTITION BY m.k) AS x FROM m WHERE {m}",
    "SELECT m.k, max_by(m.v, m.id % 2) FILTER (WHERE m.ts > now() - {i}) AS x FROM m GROUP BY m.k",
    "SELECT m.k, max_by(m.v, m.ts) AS x FROM m GROUP BY m.k HAVING max_by(m.ts, m.v) < now() - {i}",
    # generators
    "SELECT t.x, count(*) AS c FROM m LATERAL VIEW explode(array(m.v, m.id % 2, m.k)) t AS x"
    " WHERE {m} GROUP BY t.x",
    "SELECT m.k, sum(t.x) AS s, max(t.p) AS p FROM m LATERAL VIEW OUTER posexplode(CASE WHEN"
    " m.v > 1 THEN array(m.v, m.id) ELSE array(m.v) END) t AS p, x WHERE {m} GROUP BY m.k",
    "SELECT count(t.x) AS c, max(t.x) AS x FROM m LATERAL VIEW explode(array(m.v, m.k)) t AS x"
    " WHERE {m}",
    "SELECT m.k, t.x, count(r.id) AS c FROM m LEFT JOIN r ON m.k = r.k AND {r}"
    " LATERAL VIEW OUTER explode(array(r.v, m.v)) t AS x GROUP BY m.k, t.x",
    "SELECT m.id, t.x, row_number() OVER (PARTITION BY m.k ORDER BY m.v) AS n FROM m"
    " LATERAL VIEW explode(array(m.v, m.k)) t AS x WHERE {m}",
    "SELECT y.c, count(m.id) AS n FROM (VALUES (1), (2), (3)) AS y(c)"
    " LEFT JOIN m ON m.k = y.c AND {m} GROUP BY y.c",
    "SELECT x.k, t.e, count(*) AS n FROM (SELECT m.k, max(m.v) AS a, min(m.v) AS b FROM m WHERE {m}"
    " GROUP BY m.k) AS x LATERAL VIEW explode(array(x.a, x.b)) t AS e GROUP BY x.k, t.e",
    "SELECT m.id, t.x FROM m LATERAL VIEW explode(array(m.v, m.id)) t AS x WHERE {m}"
    " ORDER BY t.x DESC, m.id LIMIT {n}",
    "SELECT t.x, s.y, count(*) AS c FROM m LATERAL VIEW explode(array(m.v, m.k)) t AS x"
    " LATERAL VIEW explode(array(t.x, m.id % 2)) s AS y WHERE {m} GROUP BY t.x, s.y",
    "SELECT m.id, (SELECT count(*) FROM r LATERAL VIEW explode(array(r.k, r.v)) t AS x"
    " WHERE t.x = m.k AND {r}) AS c FROM m",
    # LIMIT in a subquery that uses the query around it
    "SELECT m.id, (SELECT r.v FROM r WHERE r.k = m.k AND {r} ORDER BY r.ts DESC LIMIT 1) AS x"
    " FROM m WHERE {m}",
    "SELECT m.k, m.id FROM m WHERE m.v IN (SELECT r.v FROM r WHERE r.k = m.k AND {r}"
    " ORDER BY r.ts LIMIT 2)",
    "SELECT m.id FROM m WHERE m.v NOT IN (SELECT r.v FROM r WHERE r.k = m.k AND {r}"
    " ORDER BY r.ts LIMIT {n})",
    "SELECT m.id FROM m WHERE (SELECT r.ts FROM r WHERE r.k = m.k ORDER BY r.v LIMIT 1)"
    " < now() - {i}",
    "SELECT m.id, (SELECT count(*) AS c FROM r WHERE r.k = m.k AND {r} GROUP BY r.v"
    " ORDER BY c DESC LIMIT 1) AS x FROM m",
    # PIVOT
    "SELECT * FROM (SELECT m.k, m.v, m.id % 2 AS p FROM m WHERE {m})"
    " PIVOT (count(*) AS c, max(v) AS b FOR k IN (1 AS one, 2 AS two, NULL AS none))",
    "WITH x AS (SELECT * FROM (SELECT m.k, m.v FROM m WHERE {m}) PIVOT (count(v) FOR v IN"
    " (1 AS a, 2 AS b))) SELECT x.k, x.b, r.id FROM x JOIN r ON r.k = x.k AND {r}"
    " WHERE coalesce(x.a, 0) < {n}",
    "SELECT m.id FROM m WHERE EXISTS (SELECT 1 FROM (SELECT r.k, r.v FROM r WHERE {r}) PIVOT"
    " (count(*) FOR v IN (1 AS a, 2 AS b)) WHERE k = m.k AND b IS NULL)",
    # copies of values
    "SELECT m.k FROM m WHERE {m} EXCEPT ALL SELECT r.k FROM r WHERE {r}",
    "SELECT m.k, m.v FROM m WHERE {m} INTERSECT ALL SELECT r.k, r.v FROM r WHERE {r}",
    "SELECT x.k, count(*) AS c FROM (SELECT m.k FROM m WHERE {m} EXCEPT ALL SELECT r.k FROM r"
    " WHERE {r}) AS x GROUP BY x.k",
    "SELECT m.k FROM m EXCEPT ALL (SELECT r.k FROM r WHERE {r} UNION ALL SELECT l.k FROM l)",
    "SELECT m.id, x.k FROM m JOIN (SELECT m.k FROM m WHERE {m} EXCEPT ALL SELECT r.k FROM r"
    " WHERE {r}) AS x ON x.k = m.k",
)
ATOMS = ("TRUE", "{t}.ts > now() - {i}", "{t}.ts + {i} <= now()", "{t}.v > {n}")


@dataclass(frozen=True)
class Case:
    """A query, rows of each table, the ends of windows, and perhaps a begin."""

    sql: str
    rows: dict[str, list[tuple[Any, ...]]]
    ends: tuple[int, ...]
    begin: int | None


def at(micros: int) -> datetime:
    return ZERO + timedelta(microseconds=micros)


def random_case(number: int, template: str = "") -> Case:
    rng = random.Random(number)

    def interval() -> str:
        return f"INTERVAL '{rng.randint(1, 8)}' MICROSECOND"

    def atom(table: str) -> str:
        return rng.choice(ATOMS).format(t=table, i=interval(), n=rng.randint(0, 3))

    sql = (template or rng.choice(TEMPLATES)).format(
        m=atom("m"), r=atom("r"), i=interval(), n=rng.randint(1, 3)
    )
    rows: dict[str, list[tuple[Any, ...]]] = {}
    for table in ("m", "r"):
        rows[table] = [
            (
                n,
                rng.choice([None, 1, 1, 2, 2, 3]),
                rng.choice([None, 0, 1, 2, 2, 3]),
                None if rng.random() < 0.05 else at(rng.choice([3, 5, rng.randint(0, 20)])),
            )
            for n in range(rng.randint(0, 7))
        ]
    rows["l"] = [(rng.choice([None, 1, 2]), rng.randint(0, 2)) for _ in range(3)]
    ends = sorted({rng.randint(0, LAST) for _ in range(rng.randint(0, 4))} | {LAST})
    begin = rng.randint(0, 15) if rng.random() < 0.3 else None
    return Case(sql, rows, tuple(ends), begin)


def load(connection: duckdb.DuckDBPyConnection, case: Case) -> None:
    for name, rows in case.rows.items():
        columns = CATALOG.relations[name].columns  # type: ignore[union-attr]
        kinds = {"int": "INTEGER", "timestamp": "TIMESTAMPTZ"}
        shape = ", ".join(f"{c.name} {kinds[c.type]}" for c in columns)
        connection.execute(f"CREATE OR REPLACE TABLE {name} ({shape})")
        for row in rows:
            marks = ", ".join("?" for _ in row)
            connection.execute(f"INSERT INTO {name} VALUES ({marks})", row)


def expected(connection: duckdb.DuckDBPyConnection, case: Case) -> dict[tuple[Any, ...], int]:
    """Every value that is an answer at some instant, and its first."""
    arrivals = [row[-1] for name in ("m", "r") if name in reads(case) for row in case.rows[name]]
    known = [int((one - ZERO) / timedelta(microseconds=1)) for one in arrivals if one is not None]
    start = case.begin if case.begin is not None else min(known, default=LAST + 1)
    found: dict[tuple[Any, ...], int] = {}
    for s in range(start, LAST + 1):
        text = static_answer(case.sql, CATALOG, at(s), scans(), "duckdb")
        for row in connection.execute(text).fetchall():
            found.setdefault(row, s)
    return found


def reads(case: Case) -> set[str]:
    return {name for name in ("m", "r") if f"FROM {name}" in case.sql or f"JOIN {name}" in case.sql}


def scans() -> dict[str, Scan]:
    return {name: Scan(name, None if name == "l" else "ts", "rowid") for name in CATALOG.relations}


class Keeps(Protocol):
    """What is kept from one window to the next beside the answers."""

    def before(
        self, connection: duckdb.DuckDBPyConnection, rewriting: Rewriting, window: Window
    ) -> KnownAnswers:
        """What is known before a window."""

    def after(
        self, connection: duckdb.DuckDBPyConnection, rewriting: Rewriting, window: Window
    ) -> None:
        """Keep what the window brought."""


def incremental(
    connection: duckdb.DuckDBPyConnection, case: Case, keeps: Keeps | None = None
) -> Iterator[tuple[int, dict[tuple[Any, ...], int]]]:
    """The answers so far after each window, each with its ``_matched_at``."""
    begin = None if case.begin is None else at(case.begin)
    rewriting = rewrite(case.sql, CATALOG, begin=begin)
    assert rewriting.strategy in ("instants", "cumulative"), case.sql
    found: dict[tuple[Any, ...], int] = {}
    tau = None
    connection.execute("DROP TABLE IF EXISTS target")
    for end in case.ends:
        window = Window(tau, at(end))
        known = KnownAnswers("target")
        if keeps is not None:
            known = keeps.before(connection, rewriting, window)
        text = rewriting.incremental(window, scans(), "duckdb", known=known)
        rows = connection.execute(text).fetchall()
        if tau is None:
            connection.execute(f"CREATE TABLE target AS {text}")
        else:
            connection.execute(f"INSERT INTO target {text}")
        if keeps is not None:
            keeps.after(connection, rewriting, window)
        for *values, matched in rows:
            assert tuple(values) not in found, (case, values)
            found[tuple(values)] = int((matched - ZERO) / timedelta(microseconds=1))
        yield end, found
        tau = at(end)


def check(case: Case, keeps: Keeps | None = None) -> int:
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    load(connection, case)
    right = expected(connection, case)
    for end, found in incremental(connection, case, keeps):
        assert found == {row: s for row, s in right.items() if s <= end}, (end, case)
    return len(right)


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_class_equals_the_definition(template: str) -> None:
    """Each class of queries, at every microsecond, over random windows."""
    answers = 0
    for asked, number in enumerate(seeds(CASES), start=1):
        answers += check(random_case(number, template))
        if answers and asked >= CASES // 8:
            return
    pytest.fail("no case has an answer")
