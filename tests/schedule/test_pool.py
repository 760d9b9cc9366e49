"""Real worker processes, on DuckDB: what they tell, how they end, and what a killed one leaves."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from dbt.adapters.events.logging import AdapterLogger
from dbt_common.events.event_manager_client import add_callback_to_manager

from tapestry.schedule import pool as pools
from tapestry.schedule.pool import LOST, Pool
from tapestry.schedule.warm import FAILED, OK
from tapestry.schedule.worker import FREE, RAN, READY, STARTED, WARNED, Event, Task, Worker

from .small import make_project


@pytest.fixture
def pool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pool]:
    monkeypatch.setattr(pools, "AGAIN", 0.1)
    arguments = tuple(make_project(tmp_path))
    pool = Pool(1, lambda number: Task(arguments, {"SAID": "so"}, tmp_path / "worker.log"))
    pool.start()
    yield pool
    pool.close(1)


def hear(pool: Pool, until: Callable[[Event], bool]) -> list[Event]:
    """Events up to one of a kind, within a minute."""
    events: list[Event] = []
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        events += pool.wait(1.0)
        if any(until(event) for event in events):
            return events
    raise AssertionError(events)


def kind(name: str) -> Callable[[Event], bool]:
    return lambda event: event.kind == name


def test_a_worker_tells_of_every_model_and_outlives_the_failing_one(
    pool: Pool, capfd: pytest.CaptureFixture[str]
) -> None:
    assert (pool.idle, pool.working) == (0, False)
    hear(pool, kind(READY))
    for _ in range(2):
        assert pool.idle == 1
        pool.give(["loaded", "big", "broken", "after_broken"])
        assert (pool.idle, pool.busy[0]) == (0, "after_broken")
        events = hear(pool, kind(FREE))
        ran = {event.model: event.ran for event in events if event.ran}
        assert {name: one.status for name, one in ran.items()} == {
            "loaded": OK,
            "big": OK,
            "broken": FAILED,
            "after_broken": "skipped",
        }
        assert next(event.model for event in events if event.kind == STARTED) == "loaded"
        assert ran["big"].seconds > 0
        assert "no_such_column" in ran["broken"].message
        warned = [event.message for event in events if event.kind == WARNED]
        assert warned == ["loaded: one row is odd"]
        assert events[-1].kind == FREE
        assert pool.busy == []
    assert capfd.readouterr().out == "", "nothing of a worker reaches the terminal"


def test_a_warning_of_the_adapter_is_told() -> None:
    theirs, ours = multiprocessing.Pipe()
    add_callback_to_manager(Worker(theirs, ())._on_event)
    AdapterLogger("Tapestry").warning("unanswered to ops: not delivered yet: 127.0.0.1 is gone")
    AdapterLogger("Tapestry").info("unanswered to archive: 3 rows delivered")
    assert ours.recv() == Event(
        WARNED, message="unanswered to ops: not delivered yet: 127.0.0.1 is gone"
    )
    assert not ours.poll()


def test_a_worker_that_is_killed_is_replaced_and_its_models_have_failed(pool: Pool) -> None:
    hear(pool, kind(READY))
    process = pool._seats[0].process
    os.kill(process.pid, signal.SIGSTOP)  # so that it cannot be done before it is killed
    pool.give(["loaded"])
    pool.replace()
    events = hear(pool, kind(LOST))
    (ran,) = [event.ran for event in events if event.kind == RAN and event.ran]
    assert (ran.model, ran.status) == ("loaded", FAILED)
    assert "exit code -9" in ran.message
    hear(pool, kind(READY))
    pool.give(["loaded"])
    events = hear(pool, kind(FREE))
    assert [event.ran.status for event in events if event.ran] == [OK]
    assert pool._seats[0].process.pid != process.pid


def test_a_worker_ignores_sigterm_and_ends_with_its_pipe(pool: Pool) -> None:
    hear(pool, kind(READY))
    process = pool._seats[0].process
    for number in (signal.SIGTERM, signal.SIGINT):
        os.kill(process.pid, number)
    pool.give(["loaded"])
    hear(pool, kind(FREE))
    pool.close(10)
    assert process.returncode == 0


def test_a_worker_that_cannot_parse_says_why(tmp_path: Path) -> None:
    arguments = tuple(make_project(tmp_path))
    (tmp_path / "models/kept.sql").write_text("select * from {{ ref('gone') }}")
    pool = Pool(1, lambda number: Task(arguments, {}, tmp_path / "worker.log"))
    pool.start()
    try:
        (*_, event) = hear(pool, kind(LOST))
        assert "'gone' which was not found" in event.message
    finally:
        pool.close(1)
