"""Steps over past data: which instants, which models, and what a second start does."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta, timezone

import pytest

from tapestry.errors import ConfigurationError
from tapestry.runs.kinds.continuous.progress import Reached
from tapestry.schedule.replay import Replay
from tapestry.schedule.steps import Steps
from tapestry.schedule.warm import FAILED, OK, SKIPPED, Ran, RunFailed


def day(number: int, hour: int = 0) -> datetime:
    return datetime(2026, 1, number, hour, tzinfo=timezone.utc)


A_DAY = timedelta(days=1)
STEPS = Steps(day(1), day(4), A_DAY)


class Project:
    """Models as dbt runs them: refuses a window that ends before the last one did."""

    def __init__(self, *models: str) -> None:
        self.reached: dict[str, datetime | None] = dict.fromkeys(models)
        self.begun: dict[str, datetime] = {}
        self.asked: list[tuple[datetime | None, list[str]]] = []
        self.broken: tuple[str, datetime] | None = None

    def run(
        self,
        models: Sequence[str] = (),
        as_of: datetime | None = None,
        options: Sequence[str] = (),
    ) -> list[Ran]:
        assert as_of is not None
        names = list(models)
        self.asked.append((as_of, names))
        if "--full-refresh" in options:
            self.reached = dict.fromkeys(self.reached)
        ran = []
        for name in names:
            if self.broken == (name, as_of):
                ran.append(Ran(name, FAILED, message="no such column"))
            elif name in self.reached:
                then = self.begun.pop(name, self.reached[name])
                assert then is None or then <= as_of
                self.reached[name] = as_of
                ran.append(Ran(name, OK, rows=as_of.day))
            else:
                ran.append(Ran(name, OK))
        return ran

    def replay(self, steps: Steps = STEPS, **options: bool) -> Replay:
        reached = {name: Reached(t, self.begun.get(name)) for name, t in self.reached.items()}
        return Replay(self, steps, reached, ["view"], **options)


def test_every_step_runs_every_model() -> None:
    project = Project("a", "b")
    replay = project.replay()
    assert (replay.total, replay.complete, replay.ahead) == (4, 0, {})
    done = list(replay)
    assert [(s.number, s.since, s.until) for s in done] == [
        (1, None, day(1)),
        (2, day(1), day(2)),
        (3, day(2), day(3)),
        (4, day(3), day(4)),
    ]
    assert done[2].new == {"a": 3, "b": 3, "view": 0}
    assert project.asked == [(day(n), ["a", "b", "view"]) for n in (1, 2, 3, 4)]


def test_the_same_command_goes_on_after_the_last_complete_step() -> None:
    project = Project("a", "b")
    for step in project.replay():
        if step.number == 2:
            break  # killed here, and a had got further
    project.reached["a"] = day(3)
    project.asked.clear()
    again = project.replay()
    assert again.complete == 2
    assert [step.number for step in again] == [3, 4]
    assert project.asked == [(day(3), ["b", "view"]), (day(4), ["a", "b", "view"])]
    assert list(project.replay()) == []
    assert project.replay().complete == 4


def test_a_model_far_ahead_is_left_out_and_told() -> None:
    project = Project("a", "b")
    project.reached["b"] = day(3, hour=7)
    replay = project.replay()
    assert replay.ahead == {"b": day(3, hour=7)}
    assert [step.new for step in replay][2:] == [{"a": 3, "view": 0}, {"a": 4, "b": 4, "view": 0}]


def test_a_window_that_was_begun_ends_beyond_the_steps_inside_it() -> None:
    """Killed in a window over several steps: the next run ends it, so none may ask for less."""
    project = Project("a", "b")
    project.reached["a"], project.begun["a"] = day(1), day(3)
    replay = project.replay()
    assert replay.ahead == {"a": day(3)}
    assert [(step.number, step.since) for step in replay][1:] == [
        *((2, day(1)), (3, day(1)), (4, day(3))),
    ]
    assert [names for _, names in project.asked] == [
        *(["b", "view"], ["b", "view"], ["a", "b", "view"], ["a", "b", "view"]),
    ]


def test_a_failure_ends_it_and_is_no_complete_step() -> None:
    project = Project("a", "b")
    project.broken = ("b", day(2))
    with pytest.raises(RunFailed, match=r"b failed in the step to 2026-01-02.*no such column"):
        list(project.replay())
    project.broken = None
    assert [step.number for step in project.replay()] == [2, 3, 4]


def test_a_full_refresh_starts_again_once() -> None:
    project = Project("a")
    list(project.replay())
    again = project.replay(full_refresh=True)
    assert again.complete == 0
    assert [step.number for step in again] == [1, 2, 3, 4]


def test_a_skipped_model_has_not_got_further() -> None:
    class Skipping(Project):
        def run(self, models: Sequence[str] = (), *_: object) -> list[Ran]:
            return [Ran(name, SKIPPED) for name in models]

    project = Skipping("a")
    replay = project.replay(Steps(day(1), day(1), A_DAY))
    assert [step.new for step in replay] == [{}]
    assert replay.complete == 0


@pytest.mark.parametrize(
    ("until", "step", "told"),
    [(day(4), timedelta(0), "--step is zero"), (datetime.min, A_DAY, "lies before --from")],
)
def test_steps_that_are_none(until: datetime, step: timedelta, told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        Steps(day(2), until.replace(tzinfo=timezone.utc), step)


def test_the_end_is_a_step_of_its_own_where_it_is_not_on_the_grid() -> None:
    steps = Steps(day(1), day(2, hour=5), timedelta(hours=12))
    assert [t.hour for t in steps.instants()] == [0, 12, 0, 5]
    assert len(steps) == 4
    assert list(Steps(day(1), day(1), A_DAY).instants()) == [day(1)]
