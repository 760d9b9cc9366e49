"""Runs a project over past data: one `dbt run` for each step, as of the step's instant.

Nothing of a replay is kept but what the runs keep themselves: each model's table says how far it
is. So a replay that was killed goes on by being started again, and a model that is further than a
step is left out of it, also one that was killed in a window that ends beyond the step.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from tapestry.runs.engine.instants import show
from tapestry.runs.kinds.continuous.progress import Reached
from tapestry.schedule.steps import ReplayStep, Steps
from tapestry.schedule.warm import OK, Ran, RunFailed, first_failure, new_rows


class Runner(Protocol):
    """The interface of what runs the project: `warm.Warm`."""

    def run(
        self,
        models: Sequence[str] = (),
        as_of: datetime | None = None,
        options: Sequence[str] = (),
    ) -> list[Ran]:
        """Execute one `dbt run`."""
        ...


class Replay:
    """The steps of models: ``reached`` has the instant of each continuous one.

    ``others`` are the remaining models.

    Iterating runs the steps that are not complete yet, one at a time. The models that have got as
    far as a step already are left out of it.
    """

    def __init__(
        self,
        runner: Runner,
        steps: Steps,
        reached: Mapping[str, Reached],
        others: Sequence[str] = (),
        *,
        full_refresh: bool = False,
    ) -> None:
        self._runner, self._others, self._refresh = runner, list(others), full_refresh
        self._reached = dict.fromkeys(reached, Reached()) if full_refresh else dict(reached)
        self._instants = list(enumerate(steps.instants(), 1))
        self.total = len(self._instants)
        self.complete = sum(not self._behind(t) for _, t in self._instants)

    @property
    def ahead(self) -> dict[str, datetime]:
        """Return the models beyond the first step that others still need, with their instants."""
        todo = [t for _, t in self._instants if self._behind(t)]
        found = {name: one.begun or one.until for name, one in self._reached.items()}
        return {n: t for n, t in found.items() if t and todo and t > todo[0]}

    def _behind(self, instant: datetime) -> list[str]:
        """Return the models that a step to an instant has to run."""
        return [name for name, reached in self._reached.items() if reached.behind(instant)]

    def __iter__(self) -> Iterator[ReplayStep]:
        """Run the steps; raise RunFailed with the model that failed, its step being incomplete."""
        for number, instant in self._instants:
            names = self._behind(instant)
            if not names:
                continue
            options = ["--full-refresh"] * self._refresh
            since = min((t for n in names if (t := self._reached[n].until)), default=None)
            began = time.monotonic()
            ran = self._runner.run([*names, *self._others], instant, options)
            seconds = time.monotonic() - began
            for one in ran:
                if one.status == OK and one.model in self._reached:
                    self._reached[one.model] = Reached(instant)
            failed = first_failure(ran)
            if failed is not None:
                raise RunFailed(
                    f"{failed.model} failed in the step to {show(instant)}: {failed.message}",
                    hint="put it right; the same command goes on from there"
                    + " (without --full-refresh)" * self._refresh,
                )
            self._refresh = False
            yield ReplayStep(number, since, instant, new_rows(ran), seconds)
