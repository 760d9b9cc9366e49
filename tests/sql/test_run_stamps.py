"""Columns that say when a row was written, told from values of the answer."""

from __future__ import annotations

import pytest

from tapestry.errors import Refusal
from tapestry.sql import timing
from tapestry.sql.catalog import Catalog, Column, Source
from tapestry.sql.operators.run_stamps import apart_from_stamps
from tapestry.sql.read.read_query import read

COLUMNS = (Column("id", "bigint"), Column("k", "bigint"), Column("ts", "timestamp"))
CATALOG = Catalog({"m": Source("m", COLUMNS, None)})


@pytest.mark.parametrize(
    ("sql", "columns"),
    [
        ("SELECT id, now() AS at FROM m", ("id",)),
        ("SELECT count(*) AS n, k, current_date() AS d FROM m GROUP BY ALL ORDER BY d", ("n", "k")),
        ("SELECT DISTINCT now() AS at, k FROM m", ("k",)),
        ("SELECT now() AS at, k FROM m UNION SELECT now(), id FROM m", ("k",)),
        ("WITH f AS (SELECT id, now() AS at FROM m) SELECT * FROM f", ("id",)),
        (
            "WITH f AS (SELECT k, now() AS at, count(*) AS n FROM m GROUP BY ALL),"
            " h AS (SELECT * FROM f) SELECT * FROM h WHERE n > 1",
            ("k", "n"),
        ),
    ],
)
def test_a_stamp_is_no_part_of_a_row(sql: str, columns: tuple[str, ...]) -> None:
    bare, stamps = apart_from_stamps(read(sql, CATALOG))
    assert (bare.columns, len(stamps)) == (columns, 1)
    assert not timing.contains_now(bare.tree)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT id, datediff(now(), ts) AS age FROM m",
        "SELECT id, CASE WHEN ts < now() THEN 1 ELSE 0 END AS late FROM m",
        "SELECT now() AS at, k FROM m UNION ALL SELECT ts, id FROM m",
        "SELECT now() AS at, k FROM m UNION ALL SELECT current_date(), id FROM m",
        "SELECT k, max(now()) AS at FROM m GROUP BY k",
        "WITH f AS (SELECT id, now() AS at FROM m) SELECT * FROM f WHERE at > ts'2026-01-01'",
        "WITH f AS (SELECT id, now() AS at FROM m) SELECT m.k, at FROM m LEFT JOIN f ON f.id = m.k",
        "SELECT q.k, q.at FROM (SELECT k, now() AS at FROM m ORDER BY at LIMIT 3) AS q",
    ],
)
def test_a_value_that_reads_the_clock_is_a_part_of_it(sql: str) -> None:
    query = read(sql.replace("ts'", "timestamp'"), CATALOG)
    assert apart_from_stamps(query) == (query, ())


def test_something_else_has_to_be_listed() -> None:
    with pytest.raises(Refusal) as refused:
        apart_from_stamps(read("SELECT now() AS at FROM m", CATALOG))
    assert refused.value.code == "only-audit-columns"
