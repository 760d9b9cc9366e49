"""Rows that arrive with the commits that added them (``arrival: commit``)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from tests.spark.commit_world import Twins

ALL = "select m.id, m.parent from {m} m"
UNANSWERED = f"{ALL} where not exists (select 1 from {{m}} r where r.parent = m.id)"
SECOND = timedelta(seconds=1)


@pytest.fixture
def twins(session: Any, schema: str) -> Twins:
    return Twins(session, schema).create()


def test_a_row_arrives_with_its_commit_whatever_becomes_of_files_and_log(twins: Twins) -> None:
    first = twins.add([(1, None), (2, 1)])
    twins.run_both(UNANSWERED, first)
    middle = twins.add([(3, None), (3, None)])
    twins.sql("optimize {s}.messages")
    last = twins.add([(4, 2)])
    twins.run_both(UNANSWERED, middle)  # what is committed after t waits
    twins.run_both(UNANSWERED, last)
    twins.add([(5, 3)])
    assert twins.forget_log(before=5) == 3
    twins.run_both(UNANSWERED, last + 60 * SECOND)
    # Committed after the run before had looked, at an instant that it ended after:
    twins.add([(6, 5), (5, 3)])
    twins.run_both(UNANSWERED, last + 90 * SECOND)
    twins.add([(5, 3)])
    twins.run_both(UNANSWERED, last + 120 * SECOND)
    twins.run_both(UNANSWERED, last + 120 * SECOND, full_refresh=True)
