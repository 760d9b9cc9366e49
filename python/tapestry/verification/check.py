"""A run checked against the definition: what is looked at, asked, and found.

``full`` looks at every event instant since time began and at every row. ``sample`` looks at t, at
some instants of new rows and arrivals, and at one turn's range of the driving table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from typing import Any

from tapestry.verification.compare import PAGE, Chosen, Comparison, Rows
from tapestry.verification.definition import EPOCH, Definition
from tapestry.verification.events import event_instants, first_arrival
from tapestry.verification.restriction import Range

Ask = Callable[[str], Sequence[tuple[Any, ...]]]
"""Executes a statement and returns its rows."""

AT_ONCE = 200
"""So many instants in one statement."""
ENOUGH, NOT_TOO_MUCH = "enough", "not_too_much"
MICRO = timedelta(microseconds=1)


@dataclass(frozen=True)
class Sample:
    """How much a sample looks at.

    ranges
        The turn's ranges of the driving tables' arrival columns.
    rows
        New rows that are asked one by one, where an answer counts by value.
    picks, arrivals
        Instants of new rows, and of rows that arrived, at which all of the ranges is compared.
    seed
        Chooses among them; the same seed chooses the same.
    """

    ranges: tuple[Range, ...]
    seed: str
    rows: int = 100
    picks: int = 4
    arrivals: int = 3
    at_random: int = 2


@dataclass(frozen=True)
class Finding:
    """One answer that is missing or too much.

    reason
        missing; early (an answer before its ``_matched_at``), absent (none at it), twice, outside
        (``_matched_at`` not in the window).
    instant
        Where the definition says otherwise: of a missing answer the first checked instant at which
        it is one, of an early row the one before its ``_matched_at``.
    """

    reason: str
    instant: datetime | None
    matched_at: datetime | None
    key: str
    values: tuple[str | None, ...]
    id: str = ""


@dataclass
class Result:
    """What came of one kind of check."""

    kind: str
    checked_rows: int = 0
    violations: int = 0
    findings: list[Finding] = field(default_factory=list)
    instants: int = 0

    @property
    def passed(self) -> bool:
        """Was nothing found?"""
        return not self.violations

    def add(self, findings: Iterable[Finding]) -> None:
        """Count findings, and keep the first of them."""
        for finding in findings:
            self.violations += 1
            if len(self.findings) < PAGE:
                self.findings.append(finding)


class Check:
    """One run's rows against one definition."""

    def __init__(self, definition: Definition, rows: Rows, ask: Ask, published: str = "") -> None:
        self.definition, self.rows, self.ask, self.published = definition, rows, ask, published
        self.enough, self.not_too_much = Result(ENOUGH), Result(NOT_TOO_MUCH)
        self._before: list[datetime] | None = None
        self._answered: dict[tuple[int, str, str], bool] = {}

    # -- the levels ---------------------------------------------------------------------------
    def full(self) -> tuple[Result, Result]:
        """Every event instant, every row."""
        rows = self.rows
        events = self.events(rows.start, rows.t)
        for arm in self.arms():
            comparison = Comparison(self.definition, rows, arm)
            self.well_formed(comparison)
            matched = [instant_of(us) for (us,) in self.ask(comparison.matched_instants())]
            every = {*events, *matched, *(s - MICRO for s in matched), rows.t, rows.start}
            instants = sorted(s for s in every if rows.start <= s <= rows.t)
            for some in _chunks(instants):
                self.compare(comparison, Chosen(tuple(some)))
            self.note_instants(len(instants))
        return self.enough, self.not_too_much

    def sample(self, sample: Sample) -> tuple[Result, Result]:
        """A part of the rows at some instants."""
        rows, random = self.rows, Random(sample.seed)
        given = [rows.t]
        given += [between(random, rows.last or rows.start, rows.t) for _ in range(sample.at_random)]
        if rows.last is not None:
            given.append(between(random, rows.start, rows.last))
        for arm in self.arms():
            comparison = Comparison(self.definition, rows, arm)
            self.well_formed(comparison)
            driver = comparison.driver
            chosen = Chosen(
                tuple(given),
                sample.picks,
                sample.arrivals if sample.ranges else 0,
                sample.ranges if driver is not None else (),
                sample.seed,
            )
            self.note_instants(len(given) + 2 * sample.picks + chosen.arrivals)
            if not chosen.ranges or (
                driver is not None and driver.first and not comparison.by_value
            ):
                self.compare(comparison, chosen)
                continue
            self.compare(comparison, chosen, comparison.enough_in_part)
            some = Chosen(tuple(given), sample.rows, seed=sample.seed)
            self.judge(comparison, self.ask(comparison.not_too_much_in_part(some)))
        return self.enough, self.not_too_much

    def arms(self) -> Iterator[int]:
        """The arms of the outermost UNION ALL."""
        yield from range(1, len(self.definition.by_value) + 1)

    def note_instants(self, count: int) -> None:
        """Remember at how many instants was looked."""
        for result in (self.enough, self.not_too_much):
            result.instants = max(result.instants, count)

    # -- their steps --------------------------------------------------------------------------
    def well_formed(self, comparison: Comparison) -> None:
        """Every row lies in the window, every answer comes once."""
        found = self.ask(comparison.outside())
        self.not_too_much.checked_rows += int(found[0][5]) if found else 0
        self.not_too_much.add(finding for row in found if (finding := _finding(row)) is not None)

    def compare(
        self,
        comparison: Comparison,
        chosen: Chosen,
        write: Callable[[Chosen], str] | None = None,
    ) -> None:
        """Compare at the chosen instants; what is missing is asked about all of history, page by
        page."""
        found = self.ask((write or comparison.both)(chosen))
        if write is None:
            self.judge(comparison, found)
        self.enough.checked_rows += int(found[0][5]) if found else 0
        while True:
            missing = [f for row in found if (f := _finding(row)) is not None]
            lost = [f for f in missing if f.reason == "missing"]
            self.enough.add(f for f in lost if self.is_lost(comparison, lost, f))
            if len(missing) < PAGE or not lost or len(self.enough.findings) >= PAGE:
                return
            last = missing[-1]
            after = Chosen(**{**vars(chosen), "after": last.id + last.key})
            found = self.ask((write or comparison.both)(after))

    def judge(self, comparison: Comparison, found: Sequence[tuple[Any, ...]]) -> None:
        """Count the rows that are too much."""
        findings = (f for row in found if (f := _finding(row)) is not None)
        self.not_too_much.add(f for f in findings if f.reason != "missing" and self.is_new(f))

    def is_new(self, finding: Finding) -> bool:
        """Not counted before, at other instants?"""
        return all(
            (f.key, f.id, f.matched_at) != (finding.key, finding.id, finding.matched_at)
            for f in self.not_too_much.findings
        )

    # -- was it an answer before? -------------------------------------------------------------
    def is_lost(self, comparison: Comparison, page: Sequence[Finding], one: Finding) -> bool:
        """Was the answer no answer at any instant up to tau, and not counted yet?"""
        identity = (comparison.arm, one.id, one.key)
        if identity not in self._answered:
            for finding, answered in self.earlier(comparison, page).items():
                self._answered[(comparison.arm, finding.id, finding.key)] = answered
            return not self._answered[identity]
        return False

    def earlier(self, comparison: Comparison, page: Sequence[Finding]) -> dict[Finding, bool]:
        """For each of some answers: was it one at an instant up to tau?

        First at tau and where the published rows of these values say so, which is nearly always
        enough; then at every event instant since time began.
        """
        known = {f for f in page if (comparison.arm, f.id, f.key) not in self._answered}
        asked = dict.fromkeys(known, False)
        if self.rows.last is None:
            return asked
        for instants in self.candidates(comparison, asked):
            left = {f.id for f, answered in asked.items() if not answered}
            for some in _chunks(instants):
                if not left:
                    return asked
                found = set(self.ask(comparison.earlier(sorted(left), some)))
                for finding in asked:
                    asked[finding] = asked[finding] or (finding.id, finding.key) in found
                left = {f.id for f, answered in asked.items() if not answered}
        return asked

    def candidates(
        self, comparison: Comparison, asked: dict[Finding, bool]
    ) -> Iterator[list[datetime]]:
        """Instants up to tau, the likeliest first."""
        last = self.rows.last
        assert last is not None
        likely = {last}
        if self.published:
            ids = sorted({finding.id for finding in asked})
            found = self.ask(comparison.published_instants(self.published, ids))
            likely |= {instant_of(us) for (us,) in found if us is not None}
        yield sorted(s for s in likely if self.rows.start <= s <= last)
        if self._before is None:
            self._before = [self.rows.start, *self.events(self.rows.start, last)]
        yield self._before

    def events(self, after: datetime, until: datetime) -> list[datetime]:
        """The event instants in ``(after, until]``."""
        found = self.ask(event_instants(self.definition, after, until))
        return sorted(instant_of(us) for (us,) in found)


def begin_of_time(
    definition: Definition, ask: Ask, begin: datetime | None, t: datetime
) -> datetime:
    """The first instant that counts; t where nothing has arrived yet."""
    if begin is not None:
        return begin
    ((us,),) = ask(first_arrival(definition))
    return t if us is None else min(instant_of(us), t)


def between(random: Random, low: datetime, high: datetime) -> datetime:
    """An instant in ``(low, high]``."""
    span = (high - low) // MICRO
    return high if span <= 1 else high - random.randrange(span) * MICRO


def _chunks(instants: Sequence[datetime]) -> Iterator[Sequence[datetime]]:
    for first in range(0, len(instants), AT_ONCE):
        yield instants[first : first + AT_ONCE]


def _finding(row: tuple[Any, ...]) -> Finding | None:
    reason, us, matched, id_, key, _, *values = row
    if reason is None:
        return None
    at = None if us is None else instant_of(us)
    matched_at = None if matched is None else instant_of(matched)
    return Finding(reason, at, matched_at, key, tuple(values), id_)


def instant_of(us: int) -> datetime:
    """The instant so many microseconds after 1970."""
    return EPOCH + timedelta(microseconds=int(us))
