"""First rows of each key by what is kept of them against the definition, at every microsecond.

As ``test_running_states.py``: a class that falls back to instants fails.
"""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import duckdb
import pytest
from tests.property.test_lifted_arms import (
    CASES,
    CATALOG,
    Case,
    at,
    check,
    load,
    random_case,
    scans,
)
from tests.property.test_running_states import Memory
from tests.seeds import seeds

from tapestry.sql import Window, rewrite
from tapestry.sql.scan import KnownAnswers

TEMPLATES = (
    "SELECT x.id, x.v FROM (SELECT m.id, m.v, row_number() OVER (PARTITION BY m.k ORDER BY m.v"
    " DESC) AS n FROM m WHERE m.v <> {n}) AS x WHERE x.n <= 2",
    "SELECT x.k, x.v FROM (SELECT m.k, m.v, row_number() OVER (PARTITION BY m.k ORDER BY m.ts DESC)"
    " AS n FROM m) AS x WHERE x.n = 1",
    "SELECT x.k, x.v FROM (SELECT m.k, m.v, rank() OVER (PARTITION BY m.k ORDER BY m.v) AS n"
    " FROM m WHERE m.ts + {i} <= now()) AS x WHERE x.n < 3 AND x.v > 1",
    "SELECT x.v + 1 AS w FROM (SELECT m.v, dense_rank() OVER (PARTITION BY m.k ORDER BY m.v DESC"
    " NULLS FIRST) AS n FROM m) AS x WHERE 2 >= x.n",
    "SELECT x.v, x.id FROM (SELECT m.v, m.id, dense_rank() OVER (PARTITION BY m.k % 2 ORDER BY"
    " m.v % 2, m.id DESC) AS n FROM m) AS x WHERE x.n <= 3",
    "WITH x AS (SELECT m.k, m.v, m.id, row_number() OVER (PARTITION BY m.k ORDER BY m.v, m.id) AS n"
    " FROM m), y AS (SELECT x.k AS g, x.v + 1 AS w, x.id FROM x WHERE x.n <= 2) SELECT y.g, y.w"
    " FROM y WHERE y.id > 1",
    "SELECT m.k, m.v FROM m ORDER BY m.v DESC LIMIT 2",
    "SELECT x.id, x.v FROM (SELECT m.id, m.v, rank() OVER (PARTITION BY m.k ORDER BY m.v) AS n"
    " FROM m) AS x WHERE x.n <= 2",
    "SELECT m.v % 2 AS p FROM m WHERE now() > m.ts + {i} ORDER BY p, m.id LIMIT 3",
    "SELECT x.k, x.w FROM (SELECT m.k, r.v AS w, row_number() OVER (PARTITION BY m.k ORDER BY r.v)"
    " AS n FROM m JOIN r ON m.k = r.k) AS x WHERE x.n <= 2",
    "SELECT x.k, x.v FROM (SELECT u.k, u.v, rank() OVER (PARTITION BY u.k ORDER BY u.v DESC) AS n"
    " FROM (SELECT m.k, m.v FROM m UNION ALL SELECT r.k, r.v FROM r) AS u) AS x WHERE x.n = 1",
    "SELECT x.id, x.w FROM (SELECT m.id, l.v AS w, row_number() OVER (ORDER BY l.v, m.v DESC) AS n"
    " FROM m JOIN l ON m.k = l.k) AS x WHERE x.n <= 3",
    "SELECT m.k, m.id FROM m QUALIFY row_number() OVER (PARTITION BY m.k ORDER BY m.v DESC) = 1",
    "SELECT 'm' AS w, x.k FROM (SELECT m.k, m.v, rank() OVER (PARTITION BY m.v ORDER BY m.k) AS n"
    " FROM m) AS x WHERE x.n <= 2 UNION ALL SELECT 'r', r.k FROM r GROUP BY r.k"
    " HAVING count(*) > 1",
)


def with_ties(case: Case, number: int) -> Case:
    """The case with more rows of fewer keys, some of which are there several times."""
    rng, rows = random.Random(number), dict(case.rows)
    for table in ("m", "r"):
        made: list[tuple[Any, ...]] = []
        for n in range(rng.randint(0, 14)):
            moment = at(rng.choice([3, 5, rng.randint(0, 20)]))
            value = rng.choice([None, 0, 1, 2, 2, 3])
            row = (n, rng.choice([None, 1, 1, 1, 2]), value, moment)
            made.append(rng.choice(made) if made and rng.random() < 0.25 else row)
        rows[table] = made
    return replace(case, rows=rows)


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_class_equals_the_definition(template: str) -> None:
    """Each class of queries, at every microsecond, over random windows."""
    answers = 0
    for asked, number in enumerate(seeds(CASES), start=1):
        case = with_ties(random_case(number, template), number)
        assert rewrite(case.sql, CATALOG).strategy == "cumulative", case.sql
        answers += check(case)
        check(case, Memory())
        if answers and asked >= CASES // 20:
            return
    pytest.fail("no case has an answer")


def test_no_more_is_kept_of_a_key_than_its_first_rows() -> None:
    query = TEMPLATES[1]
    rewriting = rewrite(query, CATALOG)
    known = KnownAnswers("target", states="memory_of_groups")
    rows = [(n, 1, n, at(n)) for n in (1, 2, 8, 6, 7)]
    with duckdb.connect() as connection:
        load(connection, Case(query, {"m": rows, "r": [], "l": []}, (5, 10), None))
        text = rewriting.states(Window(None, at(5)), scans(), dialect="duckdb")
        connection.execute(f"CREATE TABLE memory_of_groups AS {text}")
        assert connection.execute("SELECT p1_a2 FROM memory_of_groups").fetchall() == [(2,)]
        for whole in (False, True):
            window = Window(at(5), at(10))
            text = rewriting.states(window, scans(), known, "duckdb", whole)
            assert connection.execute(f"SELECT p1_a2 FROM ({text})").fetchall() == [(8,)]
