"""Bound columns that are called as those which every batch has."""

from __future__ import annotations

import pytest

from tapestry.errors import ReservedName
from tapestry.runs.tables.bound_rows import ADDED_BY_US, refuse_own_columns
from tapestry.runs.tables.kept import GENERATION, NUMBER
from tapestry.sql.lift.cases import AT


@pytest.mark.parametrize("name", [*ADDED_BY_US, GENERATION, NUMBER, AT, "_ROW"])
def test_own_columns_are_refused(name: str) -> None:
    with pytest.raises(ReservedName, match=f"binds a column {name}"):
        refuse_own_columns("matches", ["comp", name])


def test_columns_of_the_transition_tables_are_bound() -> None:
    refuse_own_columns("matches", ["execute_order", "commit_time", "commit_version", "row"])
