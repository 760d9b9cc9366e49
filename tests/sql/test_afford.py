"""What is left out of a text rather than refused, because it would cost too much."""

from __future__ import annotations

import pytest
from tests.sql.test_pairs import CATALOG

from tapestry.errors import Refusal
from tapestry.sql import rewrite
from tapestry.sql.infer import imply
from tapestry.sql.look.trace import inferences
from tapestry.sql.work import MOST, afford, bounded, spend, spent

EQUAL = (
    "select m.id from messages m, messages r, messages s where r.parent = m.id and s.parent = r.id"
    " and m.id > 5"
)


def test_of_each_kind_so_much_can_be_afforded() -> None:
    with bounded("select 1"):
        assert [afford(4, "ranges", 10) for _ in range(3)] == [True, True, False]
        assert afford(2, "ranges", 10), "what did not fit was not counted"
        assert not afford(1, "ranges", 10)
        assert afford(10, "others", 10)
    with bounded("select 2"):
        assert afford(10, "ranges", 10), "another text has all of it"


def test_what_can_be_left_out_is_no_part_of_the_cost() -> None:
    with bounded("select 1"):
        assert afford(2 * MOST, "ranges", 3 * MOST)
        assert not afford(2 * MOST, "ranges", 3 * MOST)
        assert spent() == 0
        spend(MOST, "nodes")
        assert afford(1, "ranges", 3 * MOST)
        with pytest.raises(Refusal, match="nodes: 100%"):
            spend(1, "nodes")


def test_a_text_inside_of_another_shares_what_it_can_afford() -> None:
    with bounded("select 1"):
        assert afford(6, "ranges", 10)
        with bounded("select 2"):
            assert not afford(6, "ranges", 10)


def test_where_nothing_is_bounded_all_can_be_afforded() -> None:
    assert afford(10**9, "ranges", 1)


@pytest.mark.parametrize("units", [0, 1, 10**6])
def test_a_text_that_cannot_afford_inference_is_taken_without(
    monkeypatch: pytest.MonkeyPatch, units: int
) -> None:
    whole = rewrite(EQUAL, CATALOG)
    monkeypatch.setattr(imply, "UNITS", units)
    less = rewrite(EQUAL, CATALOG)
    assert (less.canonical, less.arms) == (whole.canonical, whole.arms)
    assert set(inferences(less.arms)) <= set(inferences(whole.arms))
    assert bool(inferences(less.arms)) == (units > 1)
    assert inferences(whole.arms)
