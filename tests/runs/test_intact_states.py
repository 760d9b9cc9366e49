"""Whether the kept states of groups are those that runs have written."""

from __future__ import annotations

from dataclasses import replace

from tests.runs.state_rows import ROW

from tapestry.runs.kinds.continuous.known.group_states import only_runs_wrote
from tapestry.runs.tables.target import Commit


def _deleted(version: int, generation: str) -> Commit:
    gone = f'["((_generation#1 <> {generation}) OR (_n#2L > 1L))"]'
    return Commit(version, "DELETE", None, None, None, predicate=gone)


def test_rows_that_a_run_of_another_generation_has_removed() -> None:
    """It was under way when this one was made, and took its rows for what a refresh had left."""
    row = replace(ROW, identity=replace(ROW.identity, generation="mine", n=2), failed=())
    made = Commit(5, "WRITE", "mine", 1, "run")
    assert only_runs_wrote([_deleted(6, "mine"), made], row, 1)
    assert not only_runs_wrote([_deleted(6, "theirs"), made], row, 1)
