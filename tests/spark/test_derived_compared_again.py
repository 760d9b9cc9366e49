"""A derived table is compared again only once something has changed."""

from __future__ import annotations

from typing import Any

import pytest
from tests.spark.test_derived import ADD, Trading

from tapestry.errors import TargetChanged
from tapestry.runs.model.model import Model

pytestmark = pytest.mark.more


@pytest.fixture
def trading(session: Any, schema: str) -> Trading:
    return Trading(session, schema)


@pytest.mark.parametrize("changes", ["", "source", "rule", "batch"])
def test_a_table_is_compared_again_once_something_has_changed(
    trading: Trading, changes: str
) -> None:
    """A process that has compared a table does so no more while all that it reads is the same."""
    trading.begin()
    action = trading.action("compute", ADD, "do_comps", unique_on=["comp"])
    trading.now(action)
    trading.move("S1")
    if changes == "batch":
        trading.now(trading.rule_of_stocks)
    recall = type(trading.recall)()

    def compares(model: Model) -> bool:
        trading.recall, begun = recall, len(trading.session.texts)
        if len(trading.invocations) % 2:
            trading.invocations.append(trading.invocations[-1])  # the next one remembers
        trading.now(model)
        table = "`comp_prices` VERSION AS OF"
        return any(table in text for text in trading.session.texts[begun:])

    assert compares(trading.table)
    assert not compares(trading.table)
    if changes == "source":
        trading.move("S2")
    elif changes == "rule":
        trading.now(trading.rule_of_stocks)
    elif changes == "batch":
        trading.now(action)
    assert compares(trading.table) == bool(changes)
    assert not compares(trading.table)
    trading.do("update {s}.comp_prices set price = price + 1 where comp = 'C3'")
    with pytest.raises(TargetChanged, match="is UPDATE"):
        compares(trading.table)
