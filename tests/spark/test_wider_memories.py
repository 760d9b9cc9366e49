"""A memory serves each use whose rows it has, whatever else these uses ask of them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.spark.run_world import World
from tests.spark.test_memories import BUSY, MORE, memories, run, second

from tapestry.runs.kinds.registry import execute, prepare
from tapestry.runs.memories import ask, choose
from tapestry.runs.memories.keep import keep_memories
from tapestry.runs.model.model import Model

pytestmark = pytest.mark.usefixtures("released")

FEWER = BUSY + " and m.id > 1"
FEWER_ANSWERS = [(4, 6, 8.0)]
PAIRS = (
    "select m.id, r.id as reply from {{s}}.messages m join {{s}}.messages r on r.parent = m.id"
    " where m.id > {least} and r.author = 'b'"
)


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Call it, and each source counts as large, each memory as little, and as one that pays."""

    def make() -> None:
        monkeypatch.setattr(ask, "SMALL", -1)
        for module in (ask, choose):
            monkeypatch.setattr(module, "MOST_SHARE", 1_000)
        monkeypatch.setattr(choose, "FEW_ROWS", 1)
        monkeypatch.setattr(choose, "FILE_SECONDS", 1)

    return make


def read_by(world: World, model: Model, seconds: float) -> dict[str, str]:
    """The memory that the next run would read for each use, "" where it reads the source."""
    world.recall = type(world.recall)()
    requests = world.plan_rows(model, seconds).requests
    return {w.use.written: w.wanted.name if w.found.relation else "" for w in requests}


def test_a_use_with_a_further_condition_reads_it(world: World, large: Callable[[], None]) -> None:
    _, name = second(world)
    large()
    fewer = world.model(FEWER, "fewer", verify="full")
    assert read_by(world, fewer, 10) == {"m": name, "r": ""}
    run(world, fewer, 10)
    world.add((8, "b", 4, 11), (9, "b", 1, 11))
    run(world, fewer, 12)
    assert world.answers("fewer", columns="id, reply") == [*FEWER_ANSWERS, (4, 8, 11.0)]


@pytest.mark.parametrize(
    "other",
    [
        BUSY.replace("'a'", "'b'"),
        BUSY.replace("m.author = 'a'", "m.id > 1"),
        BUSY.replace("m.author = 'a'", "(m.author = 'a' or m.id > 1)"),
    ],
)
def test_a_use_that_needs_other_rows_does_not(
    world: World, large: Callable[[], None], other: str
) -> None:
    _, name = second(world)
    large()
    read = read_by(world, world.model(other, "other"), 10)
    assert set(read.values()) == {""}
    assert name not in read.values()


@pytest.mark.parametrize(
    "change",
    [
        "alter table {t} set tblproperties ('tapestry.memory' = 'no')",
        "alter table {t} set tblproperties ('tapestry.memory' ="
        """ '{{"source": "x", "table_id": "y", "conditions": ["`id` > f(1)"]}}')""",
        "alter table {t} unset tblproperties ('tapestry.memory')",
    ],
)
def test_one_that_says_odd_things_of_itself_is_left_alone(
    world: World, large: Callable[[], None], change: str
) -> None:
    _, name = second(world)
    large()
    world.session.run(change.format(t=name))
    assert set(read_by(world, world.model(FEWER, "fewer"), 10).values()) == {""}


def test_of_two_that_pay_the_weaker_is_built(world: World, large: Callable[[], None]) -> None:
    large()
    models = [world.model(PAIRS.format(least=n), f"m{n}", verify="full") for n in (2, 1, 3)]
    for seconds in (6, 10, 12):
        if seconds > 6:
            world.add(*(MORE if seconds == 10 else [(8, "b", 4, 11), (9, "b", 2, 11)]))
        world.recall = type(world.recall)()  # the memories that there are, are listed once
        invocation = world.invocation(seconds)
        for model in models:
            execute(world.session, prepare(world.session, model, invocation), invocation)
        deeds = keep_memories(world.session, invocation.asked.requests, "test")
        if seconds == 10:
            built = sorted(deed.wanted.conditions for deed in deeds)
            assert built == [("`author` = 'b'", "`parent` >= 2"), ("`id` > 1",)]
            assert {len(deed.models) for deed in deeds} == {3}
    names = set(memories(world))
    assert len(names) == 2
    late = {(4, 6), (4, 8)}
    for n, pairs in ((1, {*late, (2, 9)}), (2, late), (3, late)):
        assert {row[:2] for row in world.answers(f"m{n}", columns="id, reply")} == pairs
    world.add((10, "c", None, 13))
    assert {name for model in models for name in read_by(world, model, 14).values()} == names
