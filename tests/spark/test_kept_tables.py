"""Kept tables of a target: rows of runs that land once, and count for the runs after them."""

from __future__ import annotations

from typing import Any

import pytest
from tests.runs.state_rows import ROW, other
from tests.spark.run_world import delete_folder

from tapestry.errors import ConfigurationError, TargetChanged
from tapestry.runs.tables.kept import KeptRows, KeptTable
from tapestry.runs.tables.state_row import StateRow

NOTES = KeptTable("notes", "a test", {"word": "string", "size": "bigint"})


@pytest.fixture
def row(schema: str) -> StateRow:
    """Run 3 of a generation."""
    return other(ROW, model=f"{schema}.target", failed=())


def found(session: Any, row: StateRow, own: bool = False) -> list[tuple[Any, ...]]:
    return sorted(session.rows(f"SELECT * FROM {NOTES.in_force(row, own)}"))


def test_rows_of_a_run_land_once_and_count_for_the_runs_after_it(
    session: Any, row: StateRow
) -> None:
    assert not NOTES.there(session, row.model)
    for _ in range(2):
        KeptRows(NOTES, "SELECT 'three', 3").write(session, row.identity)
    assert NOTES.there(session, row.model)
    assert found(session, row) == []
    assert found(session, row, own=True) == [("three", 3)]
    after = other(row, n=4)
    assert found(session, after) == [("three", 3)]
    assert found(session, other(after, n=5, failed=(3,))) == []
    assert found(session, other(after, generation="other")) == []


def test_what_can_never_count_is_removed(session: Any, row: StateRow) -> None:
    name = NOTES.table_of(row.model)
    for n in (1, 2, 3):
        NOTES.write(session, other(row, n=n).identity, f"SELECT 'run', {n}")
    NOTES.write(session, other(row, generation="other", n=1).identity, "SELECT 'other', 1")
    NOTES.tidy(session, other(row, failed=(1,)), 2)
    left = f"SELECT word, size FROM {name} ORDER BY size"
    assert session.rows(left) == [("other", 1), ("run", 2)], "a refresh may be writing the other"
    new = other(row, generation="new", n=1)
    NOTES.tidy(session, new, 1)
    assert session.rows(left) == [("other", 1), ("run", 2)]
    NOTES.tidy(session, new, 1, made=True)
    assert session.rows(left) == []


def test_a_rewind_takes_along_what_counts(session: Any, row: StateRow) -> None:
    NOTES.carry_over(session, other(row, generation="new", n=1), row)  # there is nothing
    for n in (1, 2, 3, 4):
        NOTES.write(session, other(row, n=n).identity, f"SELECT 'run', {n}")
    rewound = other(row, generation="new", n=1)
    for _ in range(2):
        NOTES.carry_over(session, rewound, other(row, failed=(2,)), "size > 1")
    assert found(session, other(rewound, n=2)) == [("run", 3)]


def test_somebody_elses_table_is_left_alone(session: Any, row: StateRow) -> None:
    name = NOTES.table_of(row.model)
    session.run(f"create table {name} (word string) using delta")
    with pytest.raises(ConfigurationError, match="__notes is somebody else's table"):
        NOTES.tidy(session, row, 3)


def test_a_table_without_its_folder_is_told(session: Any, row: StateRow) -> None:
    NOTES.write(session, row.identity, "SELECT 'three', 3")
    delete_folder(session, NOTES.table_of(row.model))
    with pytest.raises(TargetChanged, match="__notes, but its folder is gone"):
        NOTES.there(session, row.model)
