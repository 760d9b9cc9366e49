"""The results of judging: a `Verdict` of the project, a `ModelStanding` of a model, a `Trouble`."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime, timedelta

from tapestry.report.acted import ActionRecord
from tapestry.report.artifacts import Node
from tapestry.report.record import VERIFICATION_KINDS, RecordedCheck, Run
from tapestry.report.text import ago
from tapestry.runs.tables.queries import QueryRow
from tapestry.words import counted

NOT_WELL, LOOK, WELL, NEVER, GONE = "not well", "needs a look", "well", "never run", "gone"
RANKS = {NOT_WELL: 4, LOOK: 3, WELL: 2, NEVER: 1, GONE: 0}
REPLAY = timedelta(days=1)
"""A run that ended this long after its window is a replay of the past, not late."""


@dataclass(frozen=True)
class Trouble:
    """One problem; ``model`` is empty for the project as a whole."""

    model: str
    title: str
    serious: bool
    since: datetime | None
    why: str
    do: str


@dataclass(frozen=True)
class ModelStanding:
    """The standing of one model. ``gone``: it has runs, but is not in the project now.

    ``off``: the operator has switched it off. ``quiet_at``: dbt's last invocation ended then and
    found nothing new for it, which writes no row into the record. ``acted``: the batches of an
    action.
    """

    name: str
    node: Node | None = None
    runs: tuple[Run, ...] = ()
    checks: tuple[RecordedCheck, ...] = ()
    troubles: tuple[Trouble, ...] = ()
    gone: bool = False
    quiet_at: datetime | None = None
    off: QueryRow | None = None
    acted: ActionRecord | None = None

    @property
    def state(self) -> str:
        """The state of the model, one of the five words above."""
        if self.gone:
            return GONE
        if any(trouble.serious for trouble in self.troubles):
            return NOT_WELL
        if self.troubles:
            return LOOK
        known = self.runs or self.checks or self.quiet_at or self.acted
        return WELL if known else NEVER

    @property
    def rank(self) -> int:
        """A number that is higher for a worse state."""
        return RANKS[self.state]

    @property
    def last(self) -> Run | None:
        """The newest run, failed or not."""
        return self.runs[-1] if self.runs else None

    @property
    def last_good(self) -> Run | None:
        """The newest run that published."""
        return next((run for run in reversed(self.runs) if not run.failed), None)

    @property
    def complete_until(self) -> datetime | None:
        """t of the newest run that published: every answer up to here is in the table."""
        return self.last_good.t if self.last_good else None

    @property
    def replayed(self) -> bool:
        """Whether the newest run covered a time long past (`tapestry_as_of`)."""
        run = self.last_good
        return bool(run and run.t and run.ended_at and run.ended_at - run.t > REPLAY)

    def behind(self, now: datetime) -> timedelta | None:
        """Return how far the table is behind now; runs that found nothing new count."""
        moments = [m for m in (self.complete_until, None if self.replayed else self.quiet_at) if m]
        return max(now - max(moments), timedelta(0)) if moments else None

    def latest_checks(self) -> tuple[RecordedCheck, ...]:
        """The newest outcome of every check, the broken ones first."""
        newest = {(check.kind, check.name): check for check in self.checks}
        return tuple(sorted(newest.values(), key=lambda c: (c.status == "pass", c.kind, c.name)))

    def verified(self) -> dict[str, int]:
        """Outcomes of enough / not too much by status, over all runs that are known."""
        counts: defaultdict[str, int] = defaultdict(int)
        for check in self.checks:
            if check.kind in VERIFICATION_KINDS:
                counts["fail" if check.broken else check.status] += 1
        return dict(counts)


@dataclass(frozen=True)
class Verdict:
    """The content of the page."""

    models: tuple[ModelStanding, ...]
    troubles: tuple[Trouble, ...]
    made_at: datetime
    last_run: datetime | None

    def in_state(self, state: str) -> tuple[ModelStanding, ...]:
        """Return the models in a state."""
        return tuple(one for one in self.models if one.state == state)

    @property
    def all_troubles(self) -> tuple[Trouble, ...]:
        """The project's and the models', serious ones first."""
        every = [*self.troubles, *(t for one in self.models for t in one.troubles)]
        return tuple(sorted(every, key=lambda trouble: not trouble.serious))

    @property
    def state(self) -> str:
        """The worst state; `NEVER` if nothing has run."""
        if any(trouble.serious for trouble in self.all_troubles):
            return NOT_WELL
        if self.all_troubles:
            return LOOK
        return WELL if any(one.state == WELL for one in self.models) else NEVER

    @property
    def well(self) -> bool:
        """Whether nothing is not well, and something has run: the command's exit code."""
        return self.state in (WELL, LOOK)

    @property
    def sentence(self) -> str:
        """The answer to "is everything well?"."""
        bad, look = self.in_state(NOT_WELL), self.in_state(LOOK)
        live = [one for one in self.models if one.state in (NOT_WELL, LOOK, WELL)]
        if not live:
            return "No run is on record yet."
        if bad:
            verb = "is" if len(bad) == 1 else "are"
            return f"{len(bad):,} of {counted(len(live), 'model')} {verb} not well."
        if self.state == NOT_WELL:
            return f"The project is not well: {self.all_troubles[0].title}."
        if look:
            verb = "needs" if len(look) == 1 else "need"
            return f"No model has failed; {len(look):,} of {len(live):,} {verb} a look."
        if self.state == LOOK:
            return f"The models are well, but {self.all_troubles[0].title}."
        return "The one model is well." if len(live) == 1 else f"All {len(live):,} models are well."

    def last_run_ago(self) -> str:
        """Return when the last run was, in words."""
        return ago(self.last_run, self.made_at)
