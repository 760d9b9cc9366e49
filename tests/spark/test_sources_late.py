"""Late rows: found by each means, kept for ever, and nothing else is taken for late."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import pytest
from tests.spark.source_world import World, at, bag, late, row

from tapestry.errors import LateRowsFound, SourceHistoryGone
from tapestry.runs.kinds.continuous.config import ContinuousConfig


@pytest.fixture
def world(session: Any, schema: str) -> World:
    return World(session, schema)


def test_a_late_row_arrives_just_after_tau_and_keeps_that_arrival(world: World) -> None:
    world.insert(row(1, 10))
    world.run(20)
    world.insert(row(2, 15), row(3, 25))
    second = world.run(30)
    assert second.rows.late == 1
    assert world.arrivals(second) == bag((1, "x", 10), (2, "x", late(20)), (3, "x", 25))
    world.insert(row(4, 35))
    third = world.run(40)
    assert third.rows.late == 0
    assert third.scan.late
    assert world.arrivals(third)[(2, "x", late(20))] == 1
    world.insert(row(5, 1))
    fourth = world.run(50)
    assert world.arrivals(fourth) == bag(
        (1, "x", 10), (2, "x", late(20)), (3, "x", 25), (4, "x", 35), (5, "x", late(40))
    )


def test_a_row_at_tau_is_late_one_instant_later_is_not(world: World) -> None:
    world.insert(row(1, 10))
    world.run(20)
    after = "TIMESTAMP '2024-01-01 00:20:00.000001+00:00'"
    world.insert(row(2, 20), f"(3, {after}, 'x')")
    examination = world.run(30)
    assert examination.rows.late == 1
    assert world.arrivals(examination) == bag((1, "x", 10), (2, "x", late(20)), (3, "x", late(20)))


def test_equal_rows_are_told_apart_by_number(world: World) -> None:
    world.insert(row(1, 10), row(1, 10))
    world.run(20)
    world.insert(row(1, 10), row(1, 10), row(1, 10))
    world.run(30)
    world.insert(row(1, 10))
    third = world.run(40)
    assert world.arrivals(third) == bag(
        *[(1, "x", 10)] * 2, *[(1, "x", late(20))] * 3, (1, "x", late(30))
    )


def test_null_columns_do_not_hide_a_late_row(world: World) -> None:
    world.insert(row(None, 10, None))
    world.run(20)
    world.insert(row(None, 10, None), row(None, 11, None))
    examination = world.run(30)
    assert world.arrivals(examination) == bag(
        (None, None, 10), (None, None, late(20)), (None, None, late(20))
    )


def test_rows_without_ts_are_counted_once_and_never_late(world: World) -> None:
    world.insert(row(1, None), row(2, 10))
    first = world.run(20)
    assert first.rows.null == 1
    assert "no ts" in first.warnings[0]
    world.insert(row(3, None), row(4, None), row(5, 25))
    second = world.run(30)
    assert (second.rows.null, second.rows.late) == (2, 0)
    assert world.run(40).rows.null == 0


def test_a_row_ahead_of_time_waits_for_its_instant(world: World) -> None:
    world.insert(row(1, 90))
    world.run(20)
    examination = world.run(30)
    assert not examination.changed
    assert world.arrivals(examination) == bag((1, "x", 90))


def test_without_a_change_no_job_runs(world: World) -> None:
    world.insert(row(1, 10))
    world.run(20)
    table, pin = world.table(), world.newest()
    world.session.texts.clear()
    assert not world.examine(pin=pin).changed
    assert table.table_id == pin.table_id
    assert not [text for text in world.session.texts if text.startswith(("SELECT", "WITH", "\n"))]


@pytest.mark.parametrize("means", ["row tracking", "added files", "bags"])
def test_late_rows_are_found_after_compaction(world: World, means: str) -> None:
    tracking = "'delta.enableRowTracking' = 'true'" if means == "row tracking" else ""
    world.create(properties=tracking)
    world.insert(row(1, 10))
    world.run(20)
    world.insert(row(2, 15), row(3, 25))
    world.sql("OPTIMIZE {source}")
    world.insert(row(4, 16))
    if means == "bags":
        world.sql("ALTER TABLE {source} ADD COLUMN extra INT")
    examination = world.run(30)
    assert examination.rows.late == 2
    assert world.arrivals(examination) == bag(
        (1, "x", 10), (2, "x", late(20)), (3, "x", 25), (4, "x", late(20))
    )


def test_lateness_counts_from_late_after_on(world: World) -> None:
    world.insert(row(1, 100))
    world.run(200)
    world.insert(row(2, 141))
    hour = timedelta(hours=1)
    assert world.examine(ContinuousConfig(late_rows="fail", late_after=hour)).rows.late == 1
    assert not world.examine(ContinuousConfig(late_rows="warn", late_after=hour)).warnings
    world.insert(row(3, 140))
    with pytest.raises(LateRowsFound, match="1 row came to"):
        world.examine(ContinuousConfig(late_rows="fail", late_after=hour))
    assert (
        "1 row came to"
        in world.examine(ContinuousConfig(late_rows="warn", late_after=hour)).warnings[0]
    )
    assert not world.examine(ContinuousConfig(late_rows="deliver", late_after=hour)).warnings


def test_a_crashed_run_and_its_repetition_keep_one_arrival(world: World) -> None:
    world.insert(row(1, 10))
    world.run(20)
    world.insert(row(2, 15))
    for statement in world.examine().before:
        world.session.run(statement)
    # It crashed before its commit; the same window is run again and lands.
    world.run(30)
    third = world.run(40)
    assert not third.changed
    assert "DELETE" in third.before[0]
    assert world.arrivals(third) == bag((1, "x", 10), (2, "x", late(20)))
    world.insert(row(3, 45))
    fourth = world.run(50)
    assert fourth.before == ()
    assert world.arrivals(fourth) == bag((1, "x", 10), (2, "x", late(20)), (3, "x", 45))


def test_a_source_that_the_query_did_not_read_for_a_while_begins_anew(world: World) -> None:
    world.insert(row(1, 10))
    world.run(20)
    world.insert(row(2, 15))
    world.run(30)
    world.pin = None
    world.insert(row(2, 15))
    twice = [(2, "x", 15)] * 2
    assert world.arrivals(world.run(40)) == bag((1, "x", 10), *twice)
    world.insert(row(2, 15))
    assert world.arrivals(world.run(50)) == bag((1, "x", 10), *twice, (2, "x", late(40)))


def test_a_run_that_lost_the_race_leaves_nothing(world: World) -> None:
    world.insert(row(1, 10))
    world.run(20)
    world.insert(row(2, 25))
    winner, pin = world.examine(), world.newest()
    world.insert(row(3, 15))
    for statement in world.examine().before:
        world.session.run(statement)
    world.land(winner, pin, 30)
    examination = world.run(40)
    assert examination.rows.late == 1
    assert world.arrivals(examination) == bag((1, "x", 10), (2, "x", 25), (3, "x", late(30)))


def test_another_generation_sees_late_rows_at_their_ts(world: World) -> None:
    world.insert(row(1, 10))
    world.run(20)
    world.insert(row(2, 15))
    world.run(30)
    world.generation, world.n, world.pin, world.tau = "g2", 0, None, None
    assert world.arrivals(world.run(40)) == bag((1, "x", 10), (2, "x", 15))
    world.insert(row(3, 35))
    examination = world.run(50)
    assert world.arrivals(examination) == bag((1, "x", 10), (2, "x", 15), (3, "x", late(40)))
    assert world.arrivals(world.run(60)) == world.arrivals(examination)


def test_late_rows_cannot_be_told_when_the_log_is_gone(world: World) -> None:
    world.create(properties="'delta.checkpointInterval' = '1'")
    world.insert(row(1, 10))
    world.run(20)
    world.insert(row(2, 25))
    world.insert(row(4, 26))
    _lose_log(world)
    with pytest.raises(SourceHistoryGone, match="--full-refresh"):
        world.examine()


def _lose_log(world: World) -> None:
    """Take away all of the log but the newest commit and its checkpoint."""
    folder = Path(urlparse(world.table().location).path) / "_delta_log"
    newest = f"{world.newest().version:020d}"
    assert list(folder.glob(f"{newest}.checkpoint*"))
    for path in folder.iterdir():
        if path.name.lstrip(".")[:20].isdigit() and newest not in path.name:
            path.unlink()
    world.session.spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()


def test_tau_of_the_late_row_is_the_last_one(world: World) -> None:
    world.insert(row(1, 10))
    world.run(20)
    world.run(30)
    world.insert(row(2, 15))
    assert world.tau == at(30)
    assert world.arrivals(world.run(40))[(2, "x", late(30))] == 1
