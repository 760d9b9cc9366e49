"""When a run goes by what has changed, and when the whole answer costs less."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tapestry.runs.kinds.maintained.cheaper import AGAIN, Cheaper
from tapestry.runs.protocol.past_runs import PastRun

GIB = 2**30
MIB = 2**20
FIRST = PastRun("full", "FIRST_RUN", 20.0, GIB, None)
WHOLE = PastRun("full", "COSTS_MORE", 5.0, GIB, None)
OWN = PastRun("incremental", "", 2.0, GIB, MIB)


def why(*past: PastRun, changed: int = MIB, size: int = GIB) -> str:
    """The reason for a whole answer; '': it goes by what changed."""
    found = Cheaper(size, size, 0.3, past).whole_above(changed)
    return "" if found is None else found.reason.name


def slow(seconds: float) -> PastRun:
    return replace(OWN, seconds=seconds)


def test_much_of_the_sources_has_changed() -> None:
    assert why(changed=GIB // 4) == ""
    assert why(changed=GIB // 3) == "CHANGE_TOO_LARGE"
    assert why(changed=MIB, size=2 * MIB) == "", "what is small is no question of sizes"


def test_what_earlier_runs_took_decides() -> None:
    assert why(OWN, WHOLE, FIRST) == ""
    assert why(slow(9), WHOLE, FIRST) == "COSTS_MORE"
    assert why(slow(2), slow(2), slow(9), WHOLE) == "", "the middle one of three"
    assert why(slow(9), replace(WHOLE, size=GIB // 2)) == "", "the sources have doubled since"


def test_the_first_run_is_no_measure_but_a_hint() -> None:
    """It writes all rows, and starts the engine: so the whole answer is tried once more."""
    assert why(slow(4), FIRST) == ""
    assert why(slow(6), FIRST) == "COSTS_MORE"
    assert why(WHOLE, slow(6), FIRST) == "COSTS_MORE"
    assert why(replace(WHOLE, seconds=7), slow(6), FIRST) == ""


def test_what_costs_more_is_tried_again_after_a_time() -> None:
    assert why(*[WHOLE] * (AGAIN - 1), slow(9)) == "COSTS_MORE"
    assert why(*[WHOLE] * AGAIN, slow(9)) == ""


def test_a_run_tells_nothing_of_much_smaller_changes() -> None:
    many = replace(slow(9), changed=100 * MIB)
    assert why(many, WHOLE, changed=100 * MIB) == "COSTS_MORE"
    assert why(many, WHOLE, changed=25 * MIB) == "COSTS_MORE"
    assert why(many, WHOLE, changed=24 * MIB) == ""


def test_a_small_table_is_computed_whole_until_a_run_knows_better() -> None:
    small = Cheaper(GIB, MIB, 0.3)
    assert str(small.by_sizes()) == "full: SMALL_TABLE"
    assert Cheaper(GIB, MIB, 0.3, (OWN,)).by_sizes() is None
    assert Cheaper(GIB, GIB // 20 + 1, 0.3).by_sizes() is None
    guessed = replace(WHOLE, reason="SMALL_TABLE")
    assert Cheaper(GIB, MIB, 0.3, (guessed, guessed, FIRST)).by_sizes() is not None
    assert Cheaper(GIB, MIB, 0.3, (guessed, guessed, guessed, FIRST)).by_sizes() is None


def test_many_keys_are_reached() -> None:
    weighed = Cheaper(GIB, GIB, 0.3)
    assert weighed.many_keys(30_000, 100_000) is None
    assert str(weighed.many_keys(30_001, 100_000)) == "full: CHANGE_TOO_LARGE"


@pytest.mark.parametrize("in_a_row", range(5))
def test_the_third_whole_answer_by_cost_warns_once(in_a_row: int) -> None:
    weighed = Cheaper(GIB, GIB, 0.3, (*[WHOLE] * in_a_row, OWN))
    whole = weighed.whole_above(GIB)
    assert bool(weighed.warned(whole)) == (in_a_row == 2)
    assert not weighed.warned(None)


def test_a_model_that_must_go_by_what_changed_is_never_told_otherwise() -> None:
    never = Cheaper(0, 0, 1)
    assert never.by_sizes() is None
    assert never.whole_above(GIB) is None
    assert never.many_keys(GIB, 1) is None
