"""Statements without their CTEs mean what they meant: asked of DuckDB, both ways."""

from __future__ import annotations

import random

import duckdb
import pytest
from tests.seeds import seeds

from tapestry.sql.read import without_ctes as module
from tapestry.sql.read.without_ctes import without_ctes

SAME = [
    "SELECT 1 AS x",
    "SELECT 'WITH a AS (SELECT 1)' AS x",
    "WITH a AS (SELECT 1 AS x) SELECT a.x FROM a JOIN a AS b ON a.x = b.x",
    "WITH a AS (SELECT 1 AS x), b AS (SELECT x + 1 AS x FROM a)"
    " SELECT b.x FROM b, a WHERE a.x < b.x",
    "SELECT q.* FROM (WITH a AS (SELECT 1 AS x) SELECT * FROM a) AS q",
    "WITH a AS (SELECT 1 AS x) SELECT * FROM (WITH a AS (SELECT 2 AS x) SELECT x FROM a) AS q, a",
    "WITH a AS (SELECT 1 AS x), b AS (WITH a AS (SELECT x + 5 AS x FROM a) SELECT x FROM a)"
    " SELECT b.x FROM b",
    "WITH a AS (SELECT 1 AS x) SELECT x FROM a WHERE EXISTS (SELECT 1 FROM a AS b WHERE b.x = a.x)",
    "WITH a AS (SELECT 1 AS x) SELECT x FROM a"
    " UNION ALL SELECT x FROM a WHERE x IN (SELECT x FROM a)",
    "WITH a AS (SELECT 1 AS x) SELECT A.x FROM A",
    "WITH t AS (SELECT 7 AS x) SELECT t.x, s.x FROM t, main.t AS s",
    "WITH a AS (SELECT ')' AS x /* ( */) SELECT x FROM a -- ( the end",
]
KEPT = [
    "WITH a(x) AS (SELECT 1) SELECT x FROM a",
    "WITH RECURSIVE a AS (SELECT 1 AS x) SELECT x FROM a",
    "WITH a AS (SELECT 1 AS x) SELECT FROM WHERE",
    "WITH a AS (SELECT 1",
    "WITH",
]


@pytest.mark.parametrize("text", SAME)
def test_the_rows_are_the_same(text: str) -> None:
    database = duckdb.connect()
    database.execute("CREATE TABLE t AS SELECT 40 AS x")
    written = without_ctes(text)
    assert "WITH a" not in written.replace("'WITH a AS (SELECT 1)'", "")
    assert sorted(database.sql(written).fetchall()) == sorted(database.sql(text).fetchall())


@pytest.mark.parametrize("text", KEPT)
def test_what_cannot_be_written_out_stays(text: str) -> None:
    assert without_ctes(text) == text


def test_a_text_that_would_grow_without_end_stays() -> None:
    doubling = ["c0 AS (SELECT 1 AS x)"]
    doubling += [
        f"c{n} AS (SELECT x FROM c{n - 1} UNION ALL SELECT x FROM c{n - 1})" for n in range(1, 40)
    ]
    text = f"WITH {', '.join(doubling)} SELECT x FROM c39"
    assert without_ctes(text) == text
    assert (
        len(without_ctes(text.replace("c39", "c5", 1).replace("FROM c39", "FROM c5"))) < module.MOST
    )


@pytest.mark.parametrize("seed", seeds(10))
def test_ctes_at_random(seed: int) -> None:
    """Each reads some of those before it, some have a WITH of their own with the same names."""
    chance = random.Random(seed)
    ctes: list[str] = []
    for number in range(chance.randint(1, 6)):
        known = [f"c{n}" for n in range(number)]
        one = chance.choice([*known, "t"])
        body = f"SELECT x + {number} AS x FROM {one}"
        if known and chance.random() < 0.4:
            inner = chance.choice(known)
            body = f"WITH {inner} AS ({body}) SELECT x * 2 AS x FROM {inner}"
        if chance.random() < 0.3:
            body += f" UNION ALL SELECT r.x FROM {chance.choice([*known, 't'])} AS r"
        ctes.append(f"c{number} AS ({body})")
    last = len(ctes) - 1
    text = f"WITH {', '.join(ctes)} SELECT l.x FROM c{last} AS l JOIN c0 ON c0.x <= l.x"
    database = duckdb.connect()
    database.execute("CREATE TABLE t AS SELECT unnest([1, 2, 2]) AS x")
    written = without_ctes(text)
    assert "WITH" not in written
    assert sorted(database.sql(written).fetchall()) == sorted(database.sql(text).fetchall())
