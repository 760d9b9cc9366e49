"""The pairs of tests/sql/pairs, executed by Spark, where every rendering runs and agrees."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from tests.sql.test_pairs import CATALOG, END, PAIRS, START, rewriting_of

from tapestry.sql import Scan, Window, static_answer

pytestmark = pytest.mark.gate

SCANS = {
    "messages": Scan("pair_messages", "ts", "id"),
    "authors": Scan("pair_authors", None, "level"),
}


@pytest.fixture(scope="module")
def tables(spark: Any) -> Any:
    spark.sql(
        "CREATE OR REPLACE TEMPORARY VIEW pair_messages AS SELECT id, parent, author,"
        " CAST(due AS TIMESTAMP) AS due, CAST(ts AS TIMESTAMP) AS ts FROM VALUES"
        " (1, NULL, 'ann', '2026-01-03 00:00:00', '2026-01-01 06:00:00'),"
        " (2, 1, 'bob', NULL, '2026-01-02 00:00:00'),"
        " (3, 1, 'ann', '2026-01-02 12:00:00', '2026-01-02 18:00:00'),"
        " (4, 2, NULL, '2026-01-05 00:00:00', '2026-01-03 00:00:00'),"
        " (5, 9, 'cid', '2026-01-03 06:00:00', '2026-01-03 06:00:00'),"
        " (6, 4, 'bob', '2026-01-04 00:00:00', NULL) AS v(id, parent, author, due, ts)"
    )
    spark.sql(
        "CREATE OR REPLACE TEMPORARY VIEW pair_authors AS SELECT * FROM VALUES"
        " ('ann', 1), ('bob', 2), (NULL, 3) AS v(author, level)"
    )
    return spark


@pytest.mark.parametrize("query", [p[2] for p in PAIRS], ids=[p[1] for p in PAIRS])
def test_spark_delivers_what_is_an_answer_at_the_end_and_nothing_twice(
    tables: Any, query: str
) -> None:
    rewriting = rewriting_of(query)
    delivered: Counter[tuple[Any, ...]] = Counter()
    middle = START + timedelta(days=1, hours=20)
    for tau, t in ((None, middle), (middle, END)):
        rows = tables.sql(rewriting.incremental(Window(tau, t), SCANS)).collect()
        delivered.update(tuple(row)[:-1] for row in rows)
        low = tau or datetime(1970, 1, 1, tzinfo=timezone.utc)
        assert all(low < row[-1].astimezone(timezone.utc) <= t for row in rows)
    for instant in (middle, END):
        now = tables.sql(static_answer(query, CATALOG, instant, SCANS)).collect()
        assert {tuple(row) for row in now} <= set(delivered)
    assert max(delivered.values(), default=1) == 1
