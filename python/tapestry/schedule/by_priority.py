"""Runs models as several runs of dbt: one for each priority, the greatest first.

dbt orders what is ready by its place in the graph and has no hook for another order. All runs end
at one instant, so that the tables are those of one run. Models of one priority are one run of dbt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from tapestry.schedule.levels import below, levels
from tapestry.schedule.replay import Runner
from tapestry.schedule.warm import FAILED, SKIPPED, Ran, name_of

REFERABLE = ("model", "seed", "snapshot")
FAST = "Skipping due to fail_fast"
"""dbt's own words of a model that was left out because another one failed."""


class ByPriority:
    """Runs models through ``runner``, each once, after what it reads.

    priorities, parents
        Of each model its priority, and what it reads.
    after
        Called when a run of dbt is over, with the priority and what it did.
    fail_fast
        Nothing more is run once a model has failed.
    """

    def __init__(
        self,
        runner: Runner,
        priorities: Mapping[str, int],
        parents: Mapping[str, Iterable[str]],
        after: Callable[[int, list[Ran]], None] = lambda priority, ran: None,
        fail_fast: bool = False,
    ) -> None:
        self._runner, self._priorities, self._parents = runner, priorities, parents
        self._after, self._fail_fast = after, fail_fast

    def run(
        self,
        models: Sequence[str] = (),
        as_of: datetime | None = None,
        options: Sequence[str] = (),
    ) -> list[Ran]:
        """Return the result of each model; readers of models that failed before are skipped."""
        done: list[Ran] = []
        for priority, names in levels(
            {n: self._priorities.get(n, 0) for n in models}, self._parents
        ):
            stopped = self._stopped(names, [one.model for one in done if one.status == FAILED])
            going = [name for name in names if name not in stopped]
            ran = list(self._runner.run(going, as_of, options)) if going else []
            ran += [Ran(name, SKIPPED, message=why) for name, why in stopped.items()]
            done += ran
            self._after(priority, ran)
        return done

    def _stopped(self, names: Sequence[str], failed: Sequence[str]) -> dict[str, str]:
        """Return the models that are skipped, each with the reason."""
        if self._fail_fast and failed:
            return dict.fromkeys(names, FAST)
        stopped = below(failed, self._parents)
        why = "{}, which it reads, failed or was skipped"
        return {name: why.format(stopped[name]) for name in names if name in stopped}


def parents_of(manifest: Any) -> dict[str, list[str]]:
    """Return the names (`name_of`) that each model, seed and snapshot of a project reads."""
    nodes = {i: one for i, one in manifest.nodes.items() if one.resource_type in REFERABLE}
    return {
        name_of(unique_id): [name_of(one) for one in node.depends_on_nodes if one in nodes]
        for unique_id, node in nodes.items()
    }
