"""Runs go on from tables of each format so far, and refuse those of a later one in words."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.marks import more
from tests.spark.run_world import World
from tests.spark.stored_tables import SCHEMA, STORED, answers, laid_out, models, run_all

from tapestry.errors import StateUnreadable
from tapestry.runs.protocol.standing import stand
from tapestry.runs.tables.state_row import FORMAT

pytestmark = pytest.mark.gate
BEFORE = {
    "unanswered": [(1, 10.0), (3, 15.0), (4, 20.000001), (5, 28.0), (6, 35.0), (7, 41.0)],
    "counts": [
        *(("a", 1, 0.0), ("a", 2, 5.0), ("b", 1, 1.0), ("b", 2, 20.000001)),
        *(("c", 1, 25.0), ("c", 2, 31.0)),
    ],
}
FORMATS = sorted(path.name for path in STORED.iterdir() if path.is_dir())


@pytest.fixture(params=[*map(more, FORMATS[:-1]), FORMATS[-1]])
def stored(request: pytest.FixtureRequest, session: Any, tmp_path: Path) -> Iterator[World]:
    try:
        yield laid_out(session, STORED / request.param, tmp_path)
    finally:
        session.run(f"drop schema if exists {SCHEMA} cascade")


def test_the_format_of_today_is_among_them() -> None:
    assert str(FORMAT) in FORMATS


def test_runs_go_on_from_them(stored: World) -> None:
    """Late rows, ends, states of groups, rejected rows and memories count as they did."""
    assert answers(stored) == BEFORE
    stored.add((8, "d", None, 2), (9, "a", 7, 50))
    found = run_all(stored, 70)
    assert found["unanswered"] == [*BEFORE["unanswered"], (8, 45.000001), (9, 60.0)]
    assert found["counts"] == [*BEFORE["counts"], ("d", 1, 45.000001)]
    rejected = stored.session.rows(f"select author, m.n from {SCHEMA}.counts__rejected m")
    assert sorted(map(tuple, rejected)) == [("a", 3), ("a", 4)]
    logged = stored.session.rows(f"select count(*), min(verification) from {SCHEMA}.tapestry_runs")
    assert [tuple(row) for row in logged] == [(8, "passed")]


def test_a_later_format_is_refused_in_words(stored: World) -> None:
    table = f"{SCHEMA}.tapestry_state"
    stored.session.run(f"alter table {table} add columns (later string)")
    stored.session.run(f"update {table} set format = {FORMAT + 1}, pins = 'of a later form'")
    (model, _) = models(stored)
    with pytest.raises(StateUnreadable, match=f"format {FORMAT + 1}, .*up to {FORMAT}") as caught:
        stand(stored.session, model, stored.invocation(80), refresh=False)
    assert "install the version that wrote it" in str(caught.value)
    assert stand(stored.session, model, stored.invocation(80), refresh=True).row is None
