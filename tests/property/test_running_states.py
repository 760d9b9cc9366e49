"""Groups by running states against the definition: ``Q(s)`` at every microsecond.

The cases are those of ``tests/property/test_lifted_arms.py``; here every query is one whose states
are summed up, so that a class that falls back to instants fails.
"""

from __future__ import annotations

from dataclasses import replace

import duckdb
import pytest
from tests.property.test_lifted_arms import CASES, CATALOG, check, random_case, scans
from tests.seeds import seeds

from tapestry.sql import Rewriting, Window, rewrite
from tapestry.sql.catalog import Catalog, Source
from tapestry.sql.scan import KnownAnswers

TEMPLATES = (
    "SELECT m.k, count(*) AS c FROM m WHERE {m} GROUP BY m.k",
    "SELECT m.k FROM m WHERE {m} GROUP BY m.k HAVING count(*) >= {n}",
    "SELECT m.k, sum(m.v) AS s, avg(m.v) AS a FROM m WHERE {m} GROUP BY m.k",
    "SELECT sum(m.v) AS s FROM m WHERE {m} GROUP BY m.k",
    "SELECT m.k, min(m.v) AS a, max(m.id) AS b FROM m WHERE m.v <> {n} GROUP BY m.k",
    "SELECT m.k % 2 AS p, count(m.v) AS c, count(DISTINCT m.v) AS d FROM m"
    " WHERE {m} GROUP BY m.k % 2",
    "SELECT m.k, sum(DISTINCT m.v) AS d, count(DISTINCT m.id % 2) AS e FROM m WHERE {m}"
    " GROUP BY m.k HAVING count(DISTINCT m.v) >= {n}",
    "SELECT count(*) AS c, sum(m.v) AS s, count(DISTINCT m.k) AS d FROM m WHERE {m}",
    "SELECT count(m.v) AS c FROM m WHERE {m} HAVING count(*) >= {n}",
    "SELECT m.k, r.v, count(*) AS c FROM m JOIN r ON m.k = r.k AND {r} GROUP BY m.k, r.v",
    "SELECT m.k, sum(r.v) AS s FROM m, r WHERE m.k = r.k AND {m} AND {r} GROUP BY m.k",
    "SELECT l.v, count(*) AS c, max(m.v) AS b FROM m JOIN l ON m.k = l.k GROUP BY l.v",
    "SELECT l.v, count(*) AS c FROM m LEFT JOIN l ON m.k = l.k WHERE {m} GROUP BY l.v",
    "WITH x AS (SELECT m.k AS g, m.v + 1 AS w, m.ts FROM m WHERE {m}) SELECT x.g, sum(x.w) AS s"
    " FROM x WHERE x.ts + {i} <= now() GROUP BY x.g",
    "SELECT x.k, count(*) AS c FROM (SELECT m.k, m.v FROM m WHERE {m} UNION ALL SELECT r.k, r.v"
    " FROM r WHERE {r}) AS x GROUP BY x.k HAVING count(x.v) < {n}",
    "SELECT m.k, count(*) FILTER (WHERE m.v > 1) AS c, sum(m.v) FILTER (WHERE m.id > 2) AS s"
    " FROM m WHERE {m} GROUP BY m.k",
    "SELECT m.k, count_if(coalesce(m.v, 0) > 1) AS c, bool_or(m.v > 2) AS o,"
    " bool_and(m.v > 0) AS a FROM m WHERE {m} GROUP BY m.k",
    "SELECT m.k, CASE WHEN sum(m.v) > {n} THEN 'much' ELSE 'little' END AS w FROM m WHERE {m}"
    " GROUP BY m.k",
    "SELECT m.ts AS t, m.k, count(*) AS c FROM m WHERE m.ts BETWEEN now() - {i} AND now()"
    " GROUP BY m.ts, m.k",
    "SELECT DISTINCT count(*) AS c FROM m WHERE {m} GROUP BY m.k",
    "SELECT 'm' AS w, m.k, coalesce(sum(m.v), 0) AS c FROM m GROUP BY m.k UNION ALL"
    " SELECT 'r', r.k, count(*) FROM r WHERE {r} GROUP BY r.k",
    "SELECT l.v, count(*) AS c FROM l JOIN m ON TRUE WHERE now() > m.ts + {i} GROUP BY l.v",
    "SELECT m.k, count(*) AS c FROM m WHERE m.ts > now() - 2 * {i} AND m.ts + {i} <= now()"
    " GROUP BY m.k",
    "SELECT m.v, sum(y.w) AS s, avg(y.w) AS a FROM m JOIN (VALUES (1, 2), (2, NULL), (3, 1))"
    " AS y(k, w) ON y.k = m.k WHERE {m} GROUP BY m.v",
)


class Memory:
    """What is kept of the groups: made of history once, added to by each window."""

    def __init__(self) -> None:
        self.made = False

    def before(
        self, connection: duckdb.DuckDBPyConnection, rewriting: Rewriting, window: Window
    ) -> KnownAnswers:
        """What is known before a window; sometimes it is made anew."""
        if window.tau is None:
            self.made = False
            return KnownAnswers("target")
        if not self.made or window.t.microsecond % 3 == 0:
            text = rewriting.states(Window(None, window.tau), scans(), dialect="duckdb")
            connection.execute(f"CREATE OR REPLACE TABLE memory_of_groups AS {text}")
            self.made = True
        return KnownAnswers("target", states="memory_of_groups")

    def after(
        self, connection: duckdb.DuckDBPyConnection, rewriting: Rewriting, window: Window
    ) -> None:
        """Add what a window changed."""
        if self.made:
            known = KnownAnswers("target", states="memory_of_groups")
            text = rewriting.states(window, scans(), known, "duckdb")
            connection.execute(f"INSERT INTO memory_of_groups {text}")


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_class_equals_the_definition(template: str) -> None:
    """Each class of queries, at every microsecond, over random windows."""
    answers = 0
    for asked, number in enumerate(seeds(CASES), start=1):
        case = random_case(number, template)
        assert rewrite(case.sql, CATALOG).strategy == "cumulative", case.sql
        answers += check(case)
        check(case, Memory())
        if answers and asked >= CASES // 8:
            return
    pytest.fail("no case has an answer")


def test_what_is_kept_of_distinct_values_hangs_on_whether_rows_end() -> None:
    """That a value is there, or how often it is: one must not be read for the other."""
    sql = "SELECT m.k, count(DISTINCT m.v) AS d FROM m GROUP BY m.k"
    known = CATALOG.relations["m"]
    assert isinstance(known, Source)
    ending = Catalog({**CATALOG.relations, "m": replace(known, ends=True)})
    assert rewrite(sql, CATALOG).rows_end == (False,)
    assert rewrite(sql, ending).rows_end == (True,)
    assert rewrite(sql.replace("count(DISTINCT", "max("), ending).rows_end == (None,)
