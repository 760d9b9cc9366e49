"""Weigh a run by what has changed against one by the whole answer.

    the sizes of tables        before anything is known
    bytes that have changed    before they are read
    keys that are reached      before their rows are computed
    what earlier runs took     as soon as there are some of both kinds

What is not known is tried: the whole answer where runs by what changed take long beside the first
run of all, and what changed again after some time of whole answers.
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
    """Weighs the two for one run of a model with ``refresh: auto``.

    size, table
        Bytes of its sources and of its table.
    above
        The part of the sources, and of the table's rows, that may change (``full_above``).
    past
        Its last runs, the newest first.
    changed
        Bytes that told what has changed, once that was asked.
    """

    size: int
    table: int
    above: float
    past: Sequence[PastRun] = ()
    changed: int | None = None

    def by_sizes(self) -> Whole | None:
        """The whole answer where all that a run saves is to write a small table.

        Both versions of the sources are read for the keys that a change reaches, and their rows.
        A run that went by what changed knows better: after some whole answers one does.
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
        """Why the whole answer costs less than so many changed bytes; None: it does not."""
        self.changed = changed
        if self.size > SMALL and changed > self.above * self.size:
            share = changed / self.size
            return Whole(Reason.CHANGE_TOO_LARGE, f"{share:.0%} of the bytes that are read")
        return self._by_past_runs(changed)

    def many_keys(self, reached: int, rows: int) -> Whole | None:
        """The same of the keys that a change reaches, beside all rows of the table."""
        if self.size <= SMALL or reached <= self.above * rows:
            return None
        return Whole(Reason.CHANGE_TOO_LARGE, f"{reached} keys of a table of {rows} rows")

    def warned(self, whole: Whole | None) -> tuple[str, ...]:
        """Tell once that a model has turned to whole answers by cost, at the third run of them."""
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
        """Seconds of runs by what changed, as far as they tell of such a change."""
        runs = (run for run in self.past if run.refresh == "incremental")
        told = (run for run in runs if (run.changed or 0) <= ALIKE * changed or not changed)
        return [run.seconds for run in told][:LAST]

    def _whole(self) -> list[float]:
        """Seconds of whole answers to sources of this size, but for those that made the table."""
        apart = (Reason.FIRST_RUN.name, Reason.ASKED.name, Reason.QUERY_CHANGED.name)
        runs = (run for run in self.past if run.refresh == "full" and run.reason not in apart)
        return [run.seconds * self.size / max(run.size, 1) for run in runs][:LAST]


def weigh(
    session: Session, invocation: Invocation, model: str, sizes: tuple[int, int], above: float
) -> Cheaper:
    """A model by its sizes and its last runs; ``model`` is its relation in lower case."""
    return Cheaper(*sizes, above, past_runs(session, invocation, model))
