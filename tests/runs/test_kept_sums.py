"""Counts and sums as a state row keeps them: what is added, what is taken off, their bound."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from tapestry.runs.kinds.maintained import kept_sums
from tapestry.runs.kinds.maintained.kept_sums import KeptSums
from tapestry.sql.catalog import Catalog, Column, Source
from tapestry.sql.operators.compare_versions import keep_by_keys
from tapestry.sql.operators.sums import SummedBlock, SummedQuery, sum_blocks
from tapestry.sql.read.read_query import read

CATALOG = Catalog(
    {
        "s.m": Source(
            "s.m",
            (Column("k", "string"), Column("v", "decimal(10,2)"), Column("f", "double")),
            None,
        )
    }
)
GROUPED = "SELECT k, sum(v) AS s, avg(v) AS a FROM s.m GROUP BY k"
TYPES = (
    ("_g1", "string"),
    ("_n", "bigint"),
    ("_c1", "bigint"),
    ("_s1", "decimal(20,2)"),
    ("_m0", "decimal(14,6)"),
)


def summed(sql: str) -> SummedQuery | None:
    return sum_blocks(keep_by_keys(read(sql, CATALOG)))


def block(sql: str = GROUPED) -> SummedBlock:
    found = summed(sql)
    assert found is not None
    return found.blocks[0]


def added(groups: Any, *rows: Any, sql: str = GROUPED) -> Any:
    found = kept_sums._added(groups, rows, block(sql))
    return found and {key: tuple(map(str, sums)) for key, sums in found.items()}


def test_what_comes_is_added_and_what_goes_is_taken_off() -> None:
    first = kept_sums._added({}, [(1, "a", "2", "1", "0.10"), (1, None, "1", "0", None)], block())
    assert first is not None
    assert added(first, (1, "a", "1", "1", "0.20"), (-1, None, "1", "0", None)) == {
        ("a",): ("3", "2", "0.30")
    }
    assert added(first, (-1, "a", "2", "1", "0.10")) == {(None,): ("1", "0", "0")}


def test_one_row_of_all_stays_without_rows() -> None:
    sql = "SELECT count(*) AS n, sum(v) AS s FROM s.m"
    assert added({}, sql=sql) == {(): ("0", "0", "0", "0")}
    one = {(): tuple(map(Decimal, ("1", "1", "1", "5.00")))}
    assert added(one, (-1, "1", "1", "1", "5.00"), sql=sql) == {(): ("0", "0", "0", "0.00")}


def test_too_many_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    assert kept_sums._added({}, None, block()) is None
    found = summed(GROUPED)
    assert found is not None
    groups = {("x" * 50 + str(n),): tuple(map(Decimal, "111")) for n in range(2_000)}
    assert kept_sums._bounded(KeptSums(found, (TYPES,), (groups,))) is None
    few = dict(list(groups.items())[:1_000])
    assert kept_sums._bounded(KeptSums(found, (TYPES,), (few,))) is not None


def test_totals_that_do_not_fit_their_types_are_not_kept() -> None:
    found = summed(GROUPED)
    assert found is not None
    for totals, fits in (("999999999999999999.99", True), ("1000000000000000000.00", False),
                         ("-1000000000000000000.00", False)):  # fmt: skip
        groups = {("a",): (Decimal(1), Decimal(1), Decimal(totals))}
        assert (kept_sums._bounded(KeptSums(found, (TYPES,), (groups,))) is not None) == fits
    assert added({}, (1, "a", "2", "2", None)) is None  # too large for one sum of Spark's


def test_they_are_read_again_as_they_were_written() -> None:
    odd = ["it's", 'say "a"', "a\\b", "новый\n\t", "😀", "", None, "null"]
    groups = {(one,): (Decimal(3), Decimal(2), Decimal("-1.10")) for one in odd}
    found = summed(GROUPED)
    assert found is not None
    own = json.loads(json.dumps(KeptSums(found, (TYPES,), (groups,)).own))
    assert kept_sums._kept(block(), own["sums"][0]) == groups


@pytest.mark.parametrize(
    ("total", "number", "mean"),
    [("1.00", 3, "0.333333"), ("2.00", 3, "0.666667"), ("-0.01", 8, "-0.001250"),
     ("0.00", 7, "0.000000"), ("0.0000005", 1, "0.000001")],
)  # fmt: skip
def test_an_average_is_rounded_half_up(total: str, number: int, mean: str) -> None:
    assert kept_sums._mean(Decimal(total), Decimal(number), "decimal(14,6)") == mean


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT k, min(v) AS s FROM s.m GROUP BY k",
        "SELECT k, sum(f) AS s FROM s.m GROUP BY k",
        "SELECT k, avg(f) AS s FROM s.m GROUP BY k",
        "SELECT k, count(DISTINCT v) AS s FROM s.m GROUP BY k",
        "SELECT k, sum(DISTINCT v) AS s FROM s.m GROUP BY k",
        "SELECT k, sum(sum(v)) OVER () AS s FROM s.m GROUP BY k",
        "SELECT k, sum(v) AS s FROM s.m GROUP BY ROLLUP (k)",
        "SELECT k, v FROM s.m",
        "SELECT k, collect_list(v) AS s FROM s.m GROUP BY k",
        "SELECT k, sum(CASE WHEN now() > DATE '2026-01-01' THEN v END) FROM s.m GROUP BY k",
    ],
)
def test_what_is_not_told_by_counts_and_sums(sql: str) -> None:
    assert summed(sql) is None
