"""``<target>__memory``: what is kept of groups from run to run, and what becomes of it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.killed import killed_at
from tests.spark.run_world import World, at

from tapestry.errors import ExpectationFailed
from tapestry.runs.context.recall import Recall
from tapestry.runs.kinds.continuous.after.plan_rewind import plan_rewind
from tapestry.runs.kinds.continuous.after.rewind import rewind
from tapestry.runs.kinds.continuous.known import group_states
from tapestry.runs.protocol import crash

GROUPS = (
    "select m.author, count(*) as n, count(distinct m.parent) as d, max(m.id) as last"
    " from {s}.messages m group by m.author having count(*) > 1"
)


def kept(world: World) -> list[tuple[Any, ...]]:
    return world.session.rows(
        f"select _n, part, count(*) from {world.schema}.target__memory group by 1, 2 order by 1, 2"
    )


def since(world: World) -> tuple[int, int]:
    """The newest run, and from which run on the memory counts for the next one."""
    n, beside = world.states("n, beside")[-1]
    ((began,),) = [one.split(":")[1:2] for one in json.loads(beside) if "memory:" in one]
    return n, int(began)


def expected(world: World) -> list[tuple[Any, ...]]:
    return world.answers(columns="author, n, d, last")


FIRST = [("a", 2, 1, 3, 5.0)]
SECOND = [*FIRST, ("b", 2, 0, 4, 8.0), ("c", 2, 0, 6, 8.0)]
THIRD = [*SECOND, ("b", 3, 1, 7, 12.0), ("c", 3, 0, 8, 11.0)]


def second(world: World, **config: Any) -> Any:
    """A model after two runs."""
    model = world.model(GROUPS, **{"memories": "on", "verify": "full", **config})
    world.run(model, 6)
    world.add((4, "b", None, 8), (5, "c", None, 8), (6, "c", None, 8))
    world.run(model, 10)
    assert sorted(expected(world)) == sorted(SECOND)
    return model


def third(world: World, model: Any, *more: tuple[Any, ...]) -> None:
    """Its third run, or a later one, over other rows."""
    world.add((7, "b", 9, 12), (8, "c", None, 11))
    world.run(model, 20)
    assert sorted(expected(world)) == sorted([*THIRD, *more])


def test_each_run_adds_what_it_changes(world: World) -> None:
    model = second(world)
    assert since(world) == (2, 1)
    third(world, model)
    assert since(world) == (3, 1)
    assert kept(world) == [
        *((1, "p1", 2), (1, "p1_d1", 1)),
        *((2, "p1", 2),),
        *((3, "p1", 2), (3, "p1_d1", 1)),
    ]


@pytest.mark.parametrize("deleted", [False, True])
def test_it_may_begin_with_the_first_row_that_is_late_or_gone(world: World, deleted: bool) -> None:
    """No table of such rows is there when the columns of the memory are asked for."""
    groups = "select m.author, count(*) as n from {s}.messages m group by m.author"
    model = world.model(groups, memories="off", on_source_rewrite="deletes_ok")
    world.run(model, 6)
    if deleted:
        world.session.run(f"delete from {world.schema}.messages where id = 1")
    world.add((4, "b", None, 4))
    model = world.model(groups, memories="on", on_source_rewrite="deletes_ok")
    world.run(model, 10)
    assert since(world) == (2, 2)
    first = [("a", 1, 0.0), ("b", 1, 1.0), ("a", 2, 5.0)]
    assert sorted(world.answers(columns="author, n")) == sorted([*first, ("b", 2, 6.000001)])


def test_it_is_read_in_the_place_of_history(world: World) -> None:
    model = second(world, verify="off")
    world.add((7, "b", 9, 12))
    planned = world.plan_rows(model, 20)
    assert "target__memory" in planned.rows.select
    history = world.plan_rows(world.model(GROUPS, memories="off"), 20)
    assert "target__memory" not in history.rows.select


@pytest.mark.parametrize(
    "damage",
    [
        "delete from {t} where part = 'p1'",
        "update {t} set p1_s1 = 7",
        "insert into {t} select * from {t}",
        "restore table {t} to version as of 1",
        "drop table {t}",
        "alter table {t} add columns (more int)",
    ],
)
def test_one_that_somebody_changed_is_made_anew(world: World, damage: str) -> None:
    model = second(world)
    world.session.run(damage.format(t=f"{world.schema}.target__memory"))
    third(world, model)
    began = 1 if "alter" in damage else 3
    assert since(world) == (3, began)
    world.add((9, "a", None, 22))
    world.run(model, 30)
    assert ("a", 3, 1, 9, 22.0) in expected(world)
    assert since(world) == (4, began)


def test_optimize_changes_nothing(world: World) -> None:
    model = second(world)
    world.session.run(f"optimize {world.schema}.target__memory")
    third(world, model)
    assert since(world) == (3, 1)


def test_what_a_failed_run_kept_does_not_count(world: World) -> None:
    model = second(world)
    strict = world.model(
        GROUPS,
        memories="on",
        expectations=[{"name": "few", "expect": "n < 3", "on_violation": "fail"}],
    )
    world.add((7, "b", 9, 12), (8, "c", None, 11))
    with pytest.raises(ExpectationFailed):
        world.run(strict, 15)
    world.run(model, 20)
    assert sorted(expected(world)) == sorted(THIRD)
    world.add((9, "a", None, 22))
    world.run(model, 30)
    assert ("a", 3, 1, 9, 22.0) in expected(world)


@pytest.mark.parametrize("name", crash.POINTS)
def test_killed_at_any_point_a_run_keeps_its_changes_once(world: World, name: str) -> None:
    model = second(world)
    world.add((7, "b", 9, 12), (8, "c", None, 11))
    with killed_at(name):
        world.run(model, 20)
    world.recall = Recall()
    world.add((9, "a", None, 22))
    world.run(model, 30)
    found = expected(world)
    assert sorted(found) == sorted([*THIRD, ("a", 3, 1, 9, 22.0)])


def test_one_that_has_grown_long_is_put_together(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_states, "GROWN", -1)
    model = second(world)
    assert since(world) == (2, 2)
    third(world, model)
    assert {n for n, *_ in kept(world)} == {3}, "what was before is removed"


def test_rows_that_are_deleted_leave_the_groups(world: World) -> None:
    sql = "select m.author, count(*) as n from {s}.messages m group by m.author"
    model = world.model(sql, memories="on", verify="full", on_source_rewrite="deletes_ok")
    world.run(model, 6)
    world.session.run(f"delete from {world.schema}.messages where id in (1, 2)")
    world.run(model, 8)
    world.add((4, "b", None, 9), (5, "b", None, 9))
    world.run(model, 10)
    world.add((6, "a", None, 11))
    world.run(model, 12)
    assert world.answers(columns="author, n") == [
        *(("a", 1, 0.0), ("a", 2, 5.0)),
        *(("b", 1, 1.0), ("b", 2, 9.0)),
    ]


def test_a_rewind_and_a_refresh_begin_anew(world: World) -> None:
    model = second(world)
    invocation = world.invocation(20)
    planned = plan_rewind(world.session, model, invocation, at(7))
    rewind(world.session, planned, invocation)
    world.recall = Recall()
    third(world, model)
    world.run(model, 25, full_refresh=True)
    assert sorted(expected(world)) == sorted(THIRD)
    assert [n for n, *_ in kept(world)] == [1, 1]


def test_values_are_counted_anew_once_rows_end(world: World) -> None:
    """Where no row ends a memory says that a value is there; where one does, how often it is."""
    model = world.model(
        "select m.author, count(distinct m.parent) as d from {s}.messages m group by m.author",
        memories="on",
        on_source_rewrite="deletes_ok",
    )
    world.run(model, 6)
    world.add((4, "a", 2, 8), (5, "a", 7, 9))
    world.run(model, 10)
    world.session.run(f"delete from {world.schema}.messages where id = 4")
    world.add((6, "a", 8, 12))
    world.run(model, 20)
    assert world.answers(columns="author, d") == [
        *(("a", 0, 0.0), ("a", 1, 5.0), ("a", 2, 9.0), ("a", 3, 12.0)),
        ("b", 0, 1.0),
    ]
    assert since(world) == (3, 3)


def test_one_made_anew_reads_late_rows_that_the_run_is_yet_to_keep(world: World) -> None:
    model = second(world)
    world.session.run(f"drop table {world.schema}.target__memory")
    world.add((9, "d", None, 3), (10, "d", None, 4))
    third(world, model, ("d", 2, 0, 10, 10.000001))
    assert since(world) == (3, 3)


def test_the_first_rows_of_a_key_are_kept(world: World) -> None:
    model = world.model(
        "select x.id from (select m.id, row_number() over (partition by m.author order by m.id"
        " desc) as n from {s}.messages m) x where x.n <= 2",
        memories="on",
        verify="full",
    )
    world.run(model, 6)
    world.add((4, "a", None, 8), (-4, "a", None, 8), (5, "a", None, 9), (0, "a", None, 2))
    world.run(model, 10)
    world.add((1, "a", None, 12), (6, "b", None, 12))
    world.run(model, 20)
    assert world.answers(columns="id") == [
        *((1, 0.0), (2, 1.0), (3, 5.0), (4, 8.0), (5, 9.0), (6, 12.0))
    ]
    first = f"select _n, p1_k1, p1_a1 from {world.schema}.target__memory order by 1, 2, 3"
    assert world.session.rows(first) == [
        *((1, "a", 1), (1, "a", 3), (1, "b", 2), (2, "a", 4), (2, "a", 5), (3, "b", 6))
    ]
    assert since(world) == (3, 1)
