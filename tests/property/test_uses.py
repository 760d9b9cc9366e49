"""What a memory leaves out, rows or pairs of them, changes no answer: is that noticed?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from judge.case import random_case
from judge.oracle import connect
from judge.verdict import judge
from tests.marks import more

from tapestry.sql.look import joined_uses, uses_of_sources
from tapestry.sql.planner import stored_joins
from tapestry.sql.scan import LEFT, RIGHT

MOST = 250


def _any_place_says_it(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(uses_of_sources, "_agreed", lambda one, other: one | other)


def _the_other_rows_are_kept(patch: pytest.MonkeyPatch) -> None:
    known = uses_of_sources._own_text

    def own(condition: Any, alias: str) -> str:
        text = known(condition, alias)
        return f"NOT ({text})" if text else ""

    patch.setattr(uses_of_sources, "_own_text", own)


def _pairs_keep_another_condition(patch: pytest.MonkeyPatch) -> None:
    known = joined_uses._conditions

    def wrong(conjunction: Any, left: str, right: str) -> Any:
        for text, equals in known(conjunction, left, right):
            yield f"NOT ({text})", equals

    patch.setattr(joined_uses, "_conditions", wrong)


def _a_pair_has_its_sides_exchanged(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(stored_joins, "LEFT", RIGHT)
    patch.setattr(stored_joins, "RIGHT", LEFT)


MUTANTS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "what one place says counts for all": _any_place_says_it,
    "the other rows are kept": _the_other_rows_are_kept,
    "the other pairs are kept": _pairs_keep_another_condition,
    "a pair has its sides exchanged": _a_pair_has_its_sides_exchanged,
}


SLOW = ("the other rows are kept", "what one place says counts for all")


@pytest.mark.parametrize("name", [more(one) if one in SLOW else one for one in MUTANTS])
def test_a_slip_is_noticed(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    MUTANTS[name](monkeypatch)
    connection = connect()
    assert any(judge(random_case(number), connection).failed for number in range(MOST))
