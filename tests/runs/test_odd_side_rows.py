"""Rows of a kept table: an odd one of ours stops its model, those of nobody do not exist."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.garbage import EVERY, anything

from tapestry.errors import StateUnreadable
from tapestry.names import ARRIVAL, ROW_ID
from tapestry.runs.kinds.continuous.late.side import Side, left_over_batches, totals_of_rows
from tapestry.runs.kinds.continuous.late.side_rows import check_columns, own_batches
from tapestry.runs.sources.describe import LATE
from tapestry.sql import Column

TABLE = "db.m__late_0"
GOOD = ("b1", "g", 2, 7, 0, 1, False, None)
FACTS = (
    "struct<generation:string,n:bigint,version:bigint,batch:string,ends:boolean,ended:timestamp>"
)


def own(*rows: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    return own_batches(TABLE, "g", rows)


def told(*rows: tuple[Any, ...]) -> list[tuple[Any, ...]] | StateUnreadable:
    """What is read, or the error."""
    try:
        return own(*rows)
    except StateUnreadable as error:
        return error


def test_batches_of_runs_are_kept_without_the_flag() -> None:
    other = ("b0", "of another generation", 9, 7, 0, 3, False, None)
    assert own(GOOD, other) == [
        ("b1", "g", 2, 7, 1, False, None),
        ("b0", "of another generation", 9, 7, 3, False, None),
    ]


@pytest.mark.parametrize("place", range(5))
def test_garbage_in_a_row_of_ours(place: int) -> None:
    """It stops, or it is a row of another generation, of which only a readable one is listed."""
    for value in EVERY:
        row = (*GOOD[:place], value, *GOOD[place + 1 :])
        found = told(row, GOOD)
        if isinstance(found, StateUnreadable):
            assert TABLE in found.where
            assert found.hint
            continue
        assert found[-1] == own(GOOD)[0]
        # Whatever is counted later sorts and sums: names are texts, numbers are numbers.
        side = Side(TABLE, "g", 3, "mine")
        assert isinstance(left_over_batches(found, side, None), set)


@given(st.lists(st.tuples(*[anything] * 5), max_size=4))
@settings(max_examples=50, deadline=None)
def test_random_rows(rows: list[tuple[Any, ...]]) -> None:
    try:
        found = own(*[(*row, False, None, "hash") for row in rows], (*GOOD[:5], False, None, "h"))
    except StateUnreadable:
        return
    assert totals_of_rows(found)[-1][:4] == GOOD[:4]


def test_one_batch_is_of_one_run() -> None:
    with pytest.raises(StateUnreadable, match="rows of one batch are of two runs"):
        own(GOOD, ("b1", "g", 1, 7, 0, 1, False, None))
    with pytest.raises(StateUnreadable, match="has no _arrival"):
        own((*GOOD[:4], 1, *GOOD[5:]))


def test_a_table_that_is_another() -> None:
    columns = [Column(LATE, FACTS), Column(ARRIVAL, "timestamp"), Column(ROW_ID, "string")]
    check_columns(TABLE, [*columns, Column("id", "int")])
    for wrong, said in (
        (columns[1:], f"has no column {LATE}"),
        (columns[:2], f"has no column {ROW_ID}"),
        ([columns[0], Column(ARRIVAL, "string"), columns[2]], f"has a {ARRIVAL} of string"),
        ([Column(LATE, "string"), *columns[1:]], f"has a {LATE} of string"),
        ([Column(LATE, FACTS.replace("n:", "m:")), *columns[1:]], f"has a {LATE} of struct"),
    ):
        with pytest.raises(StateUnreadable, match=said):
            check_columns(TABLE, wrong)
