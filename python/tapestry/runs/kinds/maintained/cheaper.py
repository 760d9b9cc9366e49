"""Compares the cost of a run by changes with that of a run by the whole answer.

    the sizes of tables        before anything is known
    bytes that have changed    before they are read
    keys that are reached      before their rows are computed
    times of earlier runs      as soon as there are some of both kinds

Unknown costs are tried: the whole answer where runs by changes take long beside the very first run,
and a run by changes again after some whole answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from statistics import median

from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.maintained.reasons import Reason, Whole
from tapestry.runs.protocol.past_runs import PastRun, past_runs
from tapestry.runs.query.holding import SMALL

BESIDE = 20
"""A table of a smaller part of its sources' bytes is computed whole: a guess (TPC-H, scale 1)."""
LAST = 3
"""So many runs of a kind are gone by."""
ALIKE = 4
"""A run tells of changes that are at most so many times smaller than its own."""
AGAIN = 20
"""After so many whole answers what changed is gone by once more."""
SLOW = 0.25
"""A run by what changed that takes this part of the first run may cost more than the answer."""
BY_COST = (Reason.CHANGE_TOO_LARGE.name, Reason.COSTS_MORE.name, Reason.SMALL_TABLE.name)
"""Reasons that a model gets for what its runs cost, not for what it is."""


@dataclass
class Cheaper:
    """Compares both costs for one run of a model with ``refresh: auto``.

    size, table
        Bytes of its sources and of its table.
    above
        The part of the sources, and of the table's rows, that may change (``full_above``).
    past
        Its last runs, the newest first.
    changed
        Bytes that were read to find the changes, once they are known.
    """

    size: int
    table: int
    above: float
    past: Sequence[PastRun] = ()
    changed: int | None = None

    def by_sizes(self) -> Whole | None:
        """Return the whole answer where a run by changes saves only the write of a small table.

        Such a run reads both versions of the sources for the keys that a change reaches, and their
        rows. The times of a run by changes are better evidence: after some whole answers one is
        tried.
        """
        guessed = takewhile(lambda run: run.reason == Reason.SMALL_TABLE.name, self.past)
        if (
            self.table * BESIDE >= self.size
            or self._incremental(0)
            or sum(1 for _ in guessed) >= LAST
        ):
            return None
        return Whole(Reason.SMALL_TABLE)

    def whole_above(self, changed: int) -> Whole | None:
        """Return why the whole answer costs less than so many changed bytes; None: it does not."""
        self.changed = changed
        if self.size > SMALL and changed > self.above * self.size:
            share = changed / self.size
            return Whole(Reason.CHANGE_TOO_LARGE, f"{share:.0%} of the bytes that are read")
        return self._by_past_runs(changed)

    def many_keys(self, reached: int, rows: int) -> Whole | None:
        """Return the whole answer if a change reaches too many keys, beside the table's rows."""
        if self.size <= SMALL or reached <= self.above * rows:
            return None
        return Whole(Reason.CHANGE_TOO_LARGE, f"{reached} keys of a table of {rows} rows")

    def warned(self, whole: Whole | None) -> tuple[str, ...]:
        """Warn once that a model has turned to whole answers by cost, at the third run of them."""
        if whole is None or whole.reason.name not in BY_COST:
            return ()
        in_a_row = takewhile(lambda run: run.reason in BY_COST, self.past)
        if sum(1 for _ in in_a_row) != LAST - 1:
            return ()
        return (
            f"the whole answer was computed in {LAST} runs one after the other, for it costs less"
            " than to find out what changed; refresh: full saves the looking",
        )

    def _by_past_runs(self, changed: int) -> Whole | None:
        own = self._incremental(changed)
        if not own:
            return None
        mine, whole = median(own), self._whole()
        if not whole:
            first = [run.seconds for run in self.past if run.reason == Reason.FIRST_RUN.name]
            slow = bool(first) and mine > SLOW * first[0]
            return Whole(Reason.COSTS_MORE, "tried once, to know") if slow else None
        tried = takewhile(lambda run: run.reason in BY_COST, self.past)
        if mine <= median(whole) or sum(1 for _ in tried) >= AGAIN:
            return None
        return Whole(Reason.COSTS_MORE, f"{mine:.1f} s, the whole answer {median(whole):.1f} s")

    def _incremental(self, changed: int) -> list[float]:
        """Return the seconds of runs by changes that are comparable with such a change."""
        runs = (run for run in self.past if run.refresh == "incremental")
        told = (run for run in runs if (run.changed or 0) <= ALIKE * changed or not changed)
        return [run.seconds for run in told][:LAST]

    def _whole(self) -> list[float]:
        """Return the seconds of whole answers, scaled to this size, but not of first runs."""
        apart = (Reason.FIRST_RUN.name, Reason.ASKED.name, Reason.QUERY_CHANGED.name)
        runs = (run for run in self.past if run.refresh == "full" and run.reason not in apart)
        return [run.seconds * self.size / max(run.size, 1) for run in runs][:LAST]


def weigh(
    session: Session, invocation: Invocation, model: str, sizes: tuple[int, int], above: float
) -> Cheaper:
    """Return the comparison for a model; ``model`` is its relation in lower case."""
    return Cheaper(*sizes, above, past_runs(session, invocation, model))
