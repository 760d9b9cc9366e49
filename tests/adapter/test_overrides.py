"""Settings that hold for a while: whoever overlaps with whom, all is as it was in the end."""

from __future__ import annotations

import random
from contextlib import ExitStack
from threading import Barrier, Thread
from typing import Any, cast

import pytest
from tests.seeds import seeds

from dbt.adapters.tapestry.overrides import Overrides

A, B = "spark.sql.adaptive.enabled", "spark.sql.codegen.factoryMode"


class Conf:
    """Settings of a session; `refused` cannot be set."""

    def __init__(self) -> None:
        self.values = {A: "true", "spark.other": "x"}
        self.refused: set[str] = set()

    def get(self, name: str, default: str | None) -> str | None:
        return self.values.get(name, default)

    def set(self, name: str, value: str) -> None:
        if name in self.refused:
            raise ValueError(name)
        self.values[name] = value

    def unset(self, name: str) -> None:
        self.values.pop(name, None)


@pytest.fixture
def conf() -> Conf:
    return Conf()


def _overrides(conf: Conf) -> Overrides:
    return Overrides(cast(Any, conf))


def test_two_that_overlap_leave_the_settings_as_they_were(conf: Conf) -> None:
    """The first to come is the first to go: what it found is put back by the one who stays."""
    overrides, before = _overrides(conf), dict(conf.values)
    first, second = ExitStack(), ExitStack()
    first.enter_context(overrides.inside({A: "false", B: "NO_CODEGEN"}))
    second.enter_context(overrides.inside({A: "false"}))
    first.close()
    assert conf.values == {**before, A: "false"}
    second.close()
    assert conf.values == before


def test_the_newest_of_those_who_are_there_has_its_way(conf: Conf) -> None:
    overrides = _overrides(conf)
    with overrides.inside({B: "ONE"}):
        with overrides.inside({B: "TWO"}):
            with overrides.inside({B: "THREE"}):
                assert conf.values[B] == "THREE"
            assert conf.values[B] == "TWO"
        assert conf.values[B] == "ONE"
    assert B not in conf.values, "nobody had set it"


@pytest.mark.parametrize("seed", seeds(20))
def test_any_order_of_coming_and_going(conf: Conf, seed: int) -> None:
    overrides, before, chance = _overrides(conf), dict(conf.values), random.Random(seed)
    inside: list[ExitStack] = []
    for step in range(60):
        if inside and chance.random() < 0.5:
            inside.pop(chance.randrange(len(inside))).close()
        else:
            stack = ExitStack()
            names = chance.sample([A, B, "spark.third"], chance.randint(0, 3))
            stack.enter_context(overrides.inside({name: str(step) for name in names}))
            inside.append(stack)
    for stack in inside:
        stack.close()
    assert conf.values == before


def test_eight_threads_at_once(conf: Conf) -> None:
    overrides, before, barrier = _overrides(conf), dict(conf.values), Barrier(8)
    seen: list[str] = []

    def work() -> None:
        barrier.wait()
        for _ in range(50):
            with overrides.inside({A: "false", B: "NO_CODEGEN"}):
                seen.append(conf.values[A])

    threads = [Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert conf.values == before
    assert seen == ["false"] * 400


def test_a_statement_that_fails_leaves_nothing_set(conf: Conf) -> None:
    before = dict(conf.values)
    with pytest.raises(ZeroDivisionError), _overrides(conf).inside({A: "false", B: "x"}):
        _ = 1 / 0
    assert conf.values == before


def test_a_setting_that_is_refused_leaves_none_of_the_others_set(conf: Conf) -> None:
    before = dict(conf.values)
    conf.refused.add("spark.third")
    with (
        pytest.raises(ValueError, match=r"spark\.third"),
        _overrides(conf).inside({A: "false", B: "x", "spark.third": "y", "spark.fourth": "z"}),
    ):
        raise AssertionError
    assert conf.values == before


def test_a_setting_that_cannot_be_put_back_keeps_none_of_the_others(conf: Conf) -> None:
    overrides = _overrides(conf)
    with pytest.raises(ValueError, match="adaptive"), overrides.inside({A: "false", B: "x"}):
        conf.refused.add(A)
    assert conf.values == {A: "false", "spark.other": "x"}
