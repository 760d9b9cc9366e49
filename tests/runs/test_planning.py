"""What a run decides where it stands: whether there is a window, a new query, a new generation."""

from __future__ import annotations

import pytest
from tests.runs.fake_world import TARGET, FakeWorld, at

from tapestry.errors import QueryChanged, WindowError
from tapestry.runs.context.clock import Clock
from tapestry.runs.kinds.continuous.begins import begins
from tapestry.runs.kinds.registry import prepare

pytestmark = pytest.mark.usefixtures("fake_spark")


@pytest.fixture
def world() -> FakeWorld:
    """A model that has run up to 8, and a message of the future."""
    made = FakeWorld()
    made.add((1, 0), (2, 1), (3, 15))
    made.run(8)
    return made


def commits(world: FakeWorld) -> int:
    return len(world.delta.table(TARGET).commits)


def test_a_window_in_which_nothing_can_happen_is_not_run(world: FakeWorld) -> None:
    """Nothing was committed to the source, and time brings nothing before 15."""
    world.run(16)
    assert world.ids() == [1, 2, 3]
    before = (commits(world), len(world.states()))
    for seconds in (17, 18):
        assert world.run(seconds).action == "nothing"
    assert (commits(world), len(world.states())) == before


def test_what_time_brings_is_found(world: FakeWorld) -> None:
    world.run(16)
    assert world.answers() == [(1, 0.0), (2, 1.0), (3, 15.0)]


def test_a_late_row_arrives_just_after_the_last_run(world: FakeWorld) -> None:
    world.add((4, 3), (5, 9))
    world.run(10)
    assert world.answers() == [(1, 0.0), (2, 1.0), (4, 8.000001), (5, 9.0)]


def test_time_does_not_run_backwards(world: FakeWorld) -> None:
    """A clock that is behind is told of; an instant that was asked for is refused."""
    world.add((4, 3))
    planned = prepare(world.session, world.model(), world.knowing(world.invocation(5)))
    assert planned.action == "nothing"
    assert any("the last run went to" in warning for warning in planned.told.warnings)
    given = world.invocation(5)
    given.clock = Clock(at(5), given=True)
    with pytest.raises(WindowError, match="the last run went to"):
        prepare(world.session, world.model(), world.knowing(given))
    assert world.ids() == [1, 2]


def test_lag_holds_t_back_where_the_clock_decides(world: FakeWorld) -> None:
    world.add((4, 11), (5, 13))
    lagging = world.model(lag="2 seconds")
    world.run(14, lagging)
    assert world.ids() == [1, 2, 4]
    given = world.invocation(14)
    given.clock = Clock(at(14), given=True)
    world.run(14, lagging, invocation=given)
    assert world.ids() == [1, 2, 4, 5]


def test_a_full_refresh_is_a_new_generation_also_at_an_earlier_instant(world: FakeWorld) -> None:
    before = world.stand().row
    world.run(0.5, refresh=True)
    after = world.stand().row
    assert before is not None
    assert after is not None
    assert (after.n, after.after.t) == (1, at(0.5))
    assert after.generation != before.generation
    assert world.ids() == [1]
    world.run(20)
    assert world.answers() == [(1, 0.0), (2, 1.0), (3, 15.0)]


def test_a_changed_query_stops_the_run(world: FakeWorld) -> None:
    before = commits(world)
    with pytest.raises(QueryChanged, match="not the query that its table was grown with"):
        world.run(20, world.model("another", on_query_change="fail"))
    assert commits(world) == before


def test_a_changed_query_goes_on_from_where_the_last_run_ended(world: FakeWorld) -> None:
    world.run(20, world.model("another", on_query_change="continue"))
    row = world.stand().row
    assert row is not None
    assert (row.n, row.after.canonical) == (2, "another")
    assert row.before is not None
    assert row.before.canonical == "all of them"
    assert (begins(row).begin, row.before.own) == (at(8), {})
    world.add((4, 21))
    world.run(22, world.model("another", on_query_change="fail"))
    assert world.ids() == [1, 2, 3, 4]


def test_a_changed_query_builds_the_table_again(world: FakeWorld) -> None:
    assert world.run(20, world.model("another", on_query_change="refresh")).action == "create"
    row = world.stand().row
    assert row is not None
    assert (row.n, row.after.canonical) == (1, "another")
    assert world.ids() == [1, 2, 3]


def test_a_claim_that_fails_is_the_run_s_failure(world: FakeWorld) -> None:
    """The storage of the state refuses: the error is told, nothing is published."""
    world.add((4, 9), (5, 0.5))  # a late row is kept beside the table, under a number

    def before(sql: str) -> None:
        if sql.startswith("INSERT INTO `s`.`tapestry_state`"):
            raise OSError("the disk is full")

    world.session.before = before
    with pytest.raises(OSError, match="disk is full"):
        world.run(10)
    assert (world.ids(), len(world.states())) == ([1, 2], 1)
    world.another().run(12)
    assert world.ids() == [1, 2, 4, 5]
