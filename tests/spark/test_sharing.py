"""A large source that a run and its checks ask for few keys is read once for both."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tests.marks import more
from tests.spark.run_world import UNANSWERED, World, question_of

from tapestry.runs.kinds.continuous import query
from tapestry.runs.kinds.continuous.window import measured_first
from tapestry.runs.kinds.registry import execute
from tapestry.runs.model.model import Model
from tapestry.runs.protocol.plan import Planned
from tapestry.runs.query import holding

pytestmark = pytest.mark.gate

JOINED = "select m.id, r.author from {s}.messages m, {s}.messages r where r.parent = m.id"


@pytest.fixture
def world(session: Any, schema: str, monkeypatch: pytest.MonkeyPatch) -> World:
    """The source counts as large, what runs narrow it to as few rows."""
    monkeypatch.setattr(holding, "SMALL", -1)
    monkeypatch.setattr(query, "SMALL", -1)
    monkeypatch.setattr(measured_first, "SPARK_KNOWS", -1)
    return World(session, schema).create()


def second_run(world: World, model: Model) -> Planned:
    """The plan of a run with rows in its window, answers to old ones and twins among them."""
    world.run(model, 12)
    world.add((4, "c", 1, 14), (5, "c", None, 15), (6, "d", 5, 16), (6, "d", 5, 16))
    return world.plan_rows(model, 30)


def test_the_inner_table_is_read_once(world: World) -> None:
    model = world.model(UNANSWERED, verify="sample")
    planned = second_run(world, model)
    (shared,) = question_of(planned).sharing.relations
    assert shared.view in planned.rows.holding.selects
    assert planned.rows.keyed.count(f"{shared.view} AS r") == 1
    world.session.texts.clear()
    outcome = execute(world.session, planned, world.invocation(30))
    assert all(result.status == "pass" for result in outcome.results)
    assert {result.kind for result in outcome.results} == {"enough", "not_too_much"}
    readers = [text for text in world.session.texts if f"{shared.view} AS r" in text]
    assert len(readers) == 2  # Q^I, and what compares it with the definition
    (turn,) = question_of(planned).turn_rows.values()
    assert f"`{turn}`" in planned.rows.holding.selects  # the rows whose turn it is, held as well
    assert [f"{turn} AS m" in text for text in readers] == [False, True]
    itself = r"VERSION AS OF \d+\)\n\) AS m\b|read_\w+ AS [mr]\b"
    assert [bool(re.search(itself, text)) for text in readers] == [True, False]
    assert not any(turn in str(row) for row in world.session.rows("show views"))
    assert world.answers() == [(1, 10.0), (3, 15.0), (4, 24.0), (6, 26.0), (6, 26.0)]
    assert not any(shared.view.strip("`") in str(row) for row in world.session.rows("show views"))


def test_a_wrong_answer_is_still_found(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run loses a row, reading what it shares: the check, which shares it, misses the row."""
    model = world.model(UNANSWERED, verify="sample", verify_share=1)  # all rows, each time
    planned = second_run(world, model)
    assert question_of(planned).sharing.relations
    spoiled = planned.rows.keyed.replace("NOT EXISTS", "m.id <> 6 AND NOT EXISTS")
    assert spoiled != planned.rows.keyed
    object.__setattr__(planned.rows, "keyed", spoiled)
    with pytest.raises(Exception, match="missing") as caught:
        execute(world.session, planned, world.invocation(30))
    assert "is an answer at" in str(caught.value)


@pytest.mark.parametrize(
    ("sql", "verify"), [more(UNANSWERED, "full"), (UNANSWERED, "off"), more(JOINED, "full")]
)
def test_what_is_not_a_sample_shares_nothing(world: World, sql: str, verify: str) -> None:
    planned = second_run(world, world.model(sql, verify=verify))
    assert planned.proof.verification is None or not question_of(planned).sharing.relations


def test_a_small_source_is_held_instead(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holding, "SMALL", 2**20)
    planned = second_run(world, world.model(UNANSWERED, verify="sample"))
    assert not question_of(planned).sharing.relations
    assert len(planned.rows.holding.selects) == 1
