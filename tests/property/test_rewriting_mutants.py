"""Do these tests notice? Each slip breaks the rewriting in one way; a random query must tell.

Which of them do is kept in ``killers.json``: `make judge` searches (``killers.py``).
"""

from __future__ import annotations

import pytest
from judge.oracle import connect
from tests.property.killers import SLIPS, named, notices


@pytest.mark.parametrize("slip", SLIPS)
def test_a_slip_is_noticed(slip: str) -> None:
    """A changed text, window or scan, or a lost `begin`, gives other answers for a named query."""
    connection = connect()
    numbers = named().get(slip, [])
    assert any(notices(number, slip, connection) for number in numbers), (
        f"queries {numbers} do not notice: {slip} (python -m tests.property.killers searches anew)"
    )


def test_only_slips_that_there_are_have_queries() -> None:
    assert named().keys() == SLIPS.keys()
