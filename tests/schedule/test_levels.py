"""The order by priority: against its definition, on random graphs."""

from __future__ import annotations

import random

import pytest
from tests.seeds import seeds

from tapestry.schedule.levels import below, levels, lifted


def graph(rng: random.Random) -> tuple[dict[str, int], dict[str, list[str]]]:
    """Models with priorities, some of them not run, and what each reads."""
    names = [f"m{n}" for n in range(rng.randint(1, 9))]
    parents = {
        name: rng.sample(names[:at], rng.randint(0, min(at, 3))) for at, name in enumerate(names)
    }
    chosen = {name: rng.choice([-2, 0, 0, 7]) for name in names if rng.random() < 0.8}
    return chosen, parents


def above(name: str, parents: dict[str, list[str]]) -> set[str]:
    found: set[str] = set()
    for one in parents.get(name, ()):
        found |= {one} | above(one, parents)
    return found


@pytest.mark.parametrize("seed", seeds(200))
def test_each_model_goes_once_after_what_it_reads_and_no_later_than_it_needs(seed: int) -> None:
    chosen, parents = graph(random.Random(seed))
    expected = {
        name: max(
            p for other, p in chosen.items() if other == name or name in above(other, parents)
        )
        for name in chosen
    }
    assert lifted(chosen, parents) == expected
    order = levels(chosen, parents)
    assert sorted(name for _, names in order for name in names) == sorted(chosen)
    assert [priority for priority, _ in order] == sorted({*expected.values()}, reverse=True)
    done: set[str] = set()
    for _, names in order:
        for name in names:
            assert above(name, parents) & set(chosen) <= done | set(names)
        done |= set(names)


@pytest.mark.parametrize("seed", seeds(50))
def test_what_is_below(seed: int) -> None:
    rng = random.Random(seed)
    _, parents = graph(rng)
    start = rng.choice(list(parents))
    found = below([start], parents)
    assert set(found) == {name for name in parents if start in above(name, parents)}
    assert all(reason in parents[name] for name, reason in found.items())


def test_one_priority_is_one_level() -> None:
    assert levels({"b": 3, "a": 3}, {"b": ["a"]}) == [(3, ["b", "a"])]
    assert levels({}, {}) == []
