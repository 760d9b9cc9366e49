"""A derived table is built again while another process executes batches of its actions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.spark.test_derived import ADD, Trading

from tapestry.runs.kinds.action.landing import DerivedTargets
from tapestry.runs.protocol import crash

pytestmark = pytest.mark.more


@pytest.fixture
def trading(session: Any, schema: str) -> Trading:
    world = Trading(session, schema)
    world.begin()
    return world


def beside(monkeypatch: pytest.MonkeyPatch, point: str, task: Callable[[], object]) -> None:
    """Do a task once, when a run comes to a point: as another process would."""
    left = [task]

    def reached(name: str) -> None:
        if name == point and left:
            left.pop()()

    monkeypatch.setattr(crash, "point", reached)


@pytest.mark.parametrize("together", [True, False])
def test_a_batch_that_was_begun_before(
    trading: Trading, monkeypatch: pytest.MonkeyPatch, together: bool
) -> None:
    """The new table holds its firings: it is refused, and absorbed later."""
    action = trading.action("compute", ADD, "do_comps", unique_on=["comp"], together=together,
                            backoff="0 seconds")  # fmt: skip
    trading.now(action)
    trading.move("S1")
    trading.now(trading.rule_of_stocks)
    beside(monkeypatch, "batches_claimed", lambda: trading.now(trading.table, full_refresh=True))
    assert str(trading.now(action)) == "0 batches of 0 firings, 2 failed"
    assert trading.drift(trading.table).status == "pass"
    assert str(trading.now(action)) == "nothing due"
    trading.move("S1")
    trading.now(trading.rule_of_stocks)
    assert str(trading.now(action)) == "2 batches of 2 firings"
    assert trading.drift(trading.table).status == "pass"


def test_a_batch_that_slips_in(trading: Trading, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its commit says for which table it was begun: the next run of the table builds it again."""
    action = trading.action("compute", ADD, "do_comps", unique_on=["comp"])
    trading.now(action)
    trading.move("S1")
    trading.now(trading.rule_of_stocks)
    beside(monkeypatch, "batches_claimed", lambda: trading.now(trading.table, full_refresh=True))
    with monkeypatch.context() as patch:
        patch.setattr(DerivedTargets, "refuse_built_anew", lambda *_: None)
        assert str(trading.now(action)) == "2 batches of 2 firings"
    planned = trading.planned(trading.table)
    assert "begun before the table was built" in str(planned.told.warnings)
    trading.now(trading.table)
    assert trading.drift(trading.table).status == "pass"
    assert str(trading.now(trading.table)) == "nothing new"


def test_a_batch_that_lands_while_the_table_is_built(
    trading: Trading, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a commit that the new table has not read: it went with the former table."""
    action = trading.action("compute", ADD, "do_comps", unique_on=["comp"])
    trading.now(action)

    def acted() -> None:
        trading.move("S1")
        trading.now(trading.rule_of_stocks)
        assert str(trading.now(action)) == "2 batches of 2 firings"

    beside(monkeypatch, "claimed", acted)
    trading.now(trading.table, full_refresh=True)
    trading.now(trading.table)
    assert trading.drift(trading.table).status == "pass"
    trading.move("S2")
    trading.now(trading.rule_of_stocks)
    assert str(trading.now(action)) == "1 batch of 1 firing"
    assert trading.drift(trading.table).status == "pass"
    assert str(trading.now(trading.table)) == "nothing new"
