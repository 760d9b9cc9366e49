"""Which rows a query that is evaluated at instants reads: those that matter within its window."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from tapestry.sql import Catalog, Column, Scan, Source, Window, rewrite
from tapestry.sql.scan import KnownAnswers

TAU = datetime(2026, 1, 20, tzinfo=timezone.utc)
COLUMNS = (Column("k", "int"), Column("v", "int"), Column("due", "timestamp"))
CATALOG = Catalog(
    {name: Source(name, (*COLUMNS, Column("ts", "timestamp")), "ts") for name in "ab"}
)
SCANS = {name: Scan(name, "ts", "rowid") for name in "ab"}
MONTH = " a.ts > CAST('2026-01-20 00:00:00+00:00' AS TIMESTAMP) - INTERVAL '720' HOUR"
DUE = " a.due <= CAST('2026-01-20 01:00:00+00:00' AS TIMESTAMP)"


def text(sql: str, at_begin: bool = False) -> str:
    rewriting = rewrite(sql, CATALOG)
    assert rewriting.strategy == "instants"
    window = Window(TAU, TAU + timedelta(hours=1))
    known = KnownAnswers("known", at_begin=at_begin)
    return " ".join(rewriting.incremental(window, SCANS, known=known).split())


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("a.ts > now() - interval 30 days", [MONTH]),
        ("now() >= a.due and a.v > 1", [DUE]),
        ("now() between a.due and a.ts + interval 30 days", [MONTH, DUE]),
        ("(a.ts > now() - interval 30 days or a.v = 1)", []),
        ("not a.ts > now() - interval 30 days", []),
    ],
)
def test_conditions_of_a_block_bound_its_rows(condition: str, expected: list[str]) -> None:
    found = text(
        f"select a.k, sort_array(collect_list(a.v)) as m from a where {condition} group by a.k"
    )
    assert [one for one in (MONTH, DUE) if one in found] == expected


def test_what_is_asked_of_a_row_around_a_subquery_bounds_no_row() -> None:
    found = text(
        "select a.k, max(a.v) as c from a where not exists (select 1 from b where b.k = a.k and"
        " a.ts > now() - interval 30 days) group by a.k"
    )
    assert MONTH not in found


def test_instants_before_the_window_need_rows_before_it() -> None:
    month = "a.ts > now() - interval 30 days"
    assert MONTH not in text(f"select a.k, max(a.v) as m from a where {month} group by a.k", True)
    by_rows = f"select a.v, (select max(b.v) from b where b.k = a.k) as m from a where {month}"
    assert MONTH not in text(by_rows)
