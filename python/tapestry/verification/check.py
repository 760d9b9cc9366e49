"""Checks a run against the definition: chooses what to compare, compares, and collects findings.

``full`` looks at every event instant since time began and at every row. ``sample`` looks at t, at
some instants of new rows and others by chance, over one turn's range of the driving table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import pairwise
from random import Random

from tapestry.instants import MICRO, from_micros
from tapestry.verification.buckets import DIGITS
from tapestry.verification.chosen_rows import Chosen, RunRows
from tapestry.verification.compare import PAGE, Comparison
from tapestry.verification.compare_own_text import ask_own_text, spread
from tapestry.verification.definition import Definition
from tapestry.verification.events import Ask, event_instants
from tapestry.verification.restriction import Range

AT_ONCE = 200
"""So many instants in one statement."""
APART = 12
"""So many ranges in one statement, where rows are asked one by one."""
ENOUGH, NOT_TOO_MUCH = "enough", "not_too_much"


@dataclass(frozen=True)
class Sample:
    """The size of a sample.

    ranges
        The turn's ranges of the driving tables' arrival columns.
    rows
        New rows that are asked one by one, where an answer counts by value.
    picks
        Instants of new rows in the ranges, at which all of the ranges is compared.
    elsewhere
        New rows outside of the ranges: they are looked at too, and all of the ranges at their
        instants.
    at_random
        So many instants by chance in the window: it is compared there too.  Nothing changes between
        events: each is as good as the last event before it, and costs no look at what arrived.
    seed
        Chooses among them; the same seed chooses the same.
    turn
        Which bucket of groups it looks at, of aggregates that have a key: there at ``instants``
        instants by chance, and at those of ``grouped`` new rows. ``of_all``: so many instants by
        chance at which all groups are compared.
    turn_rows
        Arm -> a relation with the rows in the ranges (see ``Restriction``), where there is one;
        no new rows elsewhere are looked at then.
    """

    ranges: tuple[Range, ...]
    seed: str
    rows: int = 100
    picks: int = 2
    elsewhere: int = 2
    at_random: int = 1
    turn: int = 0
    grouped: int = 24
    instants: int = 16
    of_all: int = 3
    turn_rows: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Finding:
    """One answer that is missing, or one row that is too much.

    reason
        missing; early (an answer before its ``_matched_at``), absent (none at it), twice, outside
        (``_matched_at`` not in the window); unread (an answer of the author's own text only),
        misread (one of what was read of it only).
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
    """The result of one kind of check."""

    kind: str
    checked_rows: int = 0
    violations: int = 0
    findings: list[Finding] = field(default_factory=list)
    instants: int = 0
    own_text: str = ""
    """Was the author's own text asked, and if not, why; '' where it is not to be."""

    @property
    def passed(self) -> bool:
        """Whether nothing was found."""
        return not self.violations

    def add(self, findings: Iterable[Finding]) -> None:
        """Count findings, and keep the first of them."""
        for finding in findings:
            self.violations += 1
            if len(self.findings) < PAGE:
                self.findings.append(finding)


class Check:
    """The check of one run's rows against one definition."""

    def __init__(
        self, definition: Definition, rows: RunRows, ask: Ask, published: Callable[[], str] = str
    ) -> None:
        self.definition, self.rows, self.ask, self.published = definition, rows, ask, published
        self.enough, self.not_too_much = Result(ENOUGH), Result(NOT_TOO_MUCH)
        self._before: list[datetime] | None = None
        self._answered: dict[tuple[int, str, str], bool] = {}
        self._surplus: set[tuple[str, str, datetime | None]] = set()

    # -- the levels ---------------------------------------------------------------------------
    def full(self) -> tuple[Result, Result]:
        """Compare every row, at every event instant."""
        rows = self.rows
        events = self.events(rows.start, rows.t) if rows.start <= rows.t else []
        for arm in self.arms():
            comparison = Comparison(self.definition, rows, arm)
            self.well_formed(comparison)
            matched = [from_micros(us) for (us,) in self.ask(comparison.matched_instants())]
            every = {*events, *matched, *(s - MICRO for s in matched), rows.t, rows.start}
            instants = sorted(s for s in every if rows.start <= s <= rows.t)
            for some in _chunks(instants):
                self.compare(comparison, Chosen(tuple(some)))
            note_instants((self.enough, self.not_too_much), len(instants))
        self.own_text(events)
        return self.enough, self.not_too_much

    def sample(self, sample: Sample) -> tuple[Result, Result]:
        """Compare a part of the rows, at some instants."""
        if self.rows.start > self.rows.t:  # time has not begun: there can be no row
            return self.full()
        rows, random = self.rows, Random(sample.seed)
        given = [rows.t]
        given += [between(random, rows.last or rows.start, rows.t) for _ in range(sample.at_random)]
        if rows.last is not None:
            given.append(between(random, rows.start, rows.last))
        for arm in self.arms():
            comparison = Comparison(self.definition, rows, arm)
            if self.grouped(comparison, sample, random):
                continue
            driver, turn_rows = comparison.driver, sample.turn_rows.get(arm, "")
            chosen = Chosen(
                tuple(given),
                sample.picks,
                sample.ranges if driver is not None else (),
                sample.seed,
                elsewhere=0 if turn_rows else sample.elsewhere,
                turn_rows=turn_rows,
            )
            chosen = self.with_found_instants(comparison, chosen)
            note_instants((self.enough, self.not_too_much), len(chosen.instants))
            if self.rows.last is not None and self.definition.may_hold_again:
                self.delivered_again(comparison, sample)
            if not chosen.ranges or (
                driver is not None and driver.first and not comparison.by_value
            ):
                self.compare(comparison, chosen)
                continue
            self.compare(comparison, chosen, comparison.enough_in_part)
            some = Chosen(tuple(given), sample.rows, seed=sample.seed)
            self.judge(self.wrong_ones(comparison.not_too_much_in_part, some)[1])
        if rows.tau is None:  # a first run, which reads all there is anyway
            self.own_text(given, sampled=True)
        return self.enough, self.not_too_much

    def own_text(self, instants: Iterable[datetime], sampled: bool = False) -> None:
        """Compare the answers of the query as it was read with those of the author's own text."""
        chosen = spread(s for s in {*instants, self.rows.t} if self.rows.start <= s <= self.rows.t)
        said, findings = ask_own_text(self.definition, chosen, self.findings, sampled)
        self.enough.own_text = self.not_too_much.own_text = said
        self.enough.add(one for one in findings if one.reason == "unread")
        self.not_too_much.add(one for one in findings if one.reason == "misread")

    def grouped(self, comparison: Comparison, sample: Sample, random: Random) -> bool:
        """One bucket of an aggregate's groups at many instants, all of them at t; has it a key?

        All new rows have to be well formed.
        """
        arm, rows = comparison.arm, self.rows
        digit = DIGITS[sample.turn % len(DIGITS)]
        part = self.definition.in_bucket(arm, digit)
        if part is None:
            return False
        self.well_formed(comparison)
        low = rows.last or rows.start
        some = {between(random, low, rows.t) for _ in range(sample.of_all)}
        self.compare(comparison, Chosen((rows.t, *some)))
        mine = replace(rows, relation=self.definition.bucket_rows(rows.relation, arm, digit))
        inside = Comparison(part, mine, arm)
        given = {between(random, low, rows.t) for _ in range(sample.instants)}
        found = self.ask(inside.own_instants(sample.grouped, sample.seed))
        matched = {from_micros(us) for (us,) in found}
        every = {*given, *matched, *(s - MICRO for s in matched)}
        instants = sorted(s for s in every if rows.start <= s <= rows.t)
        note_instants((self.enough, self.not_too_much), len(instants))
        if rows.last is not None and self.definition.may_hold_again:
            self.delivered_again(inside, sample)
        self.compare(inside, Chosen(tuple(instants)))
        return True

    def with_found_instants(self, comparison: Comparison, chosen: Chosen) -> Chosen:
        """Return the given instants, those of some new rows, and those just before them.

        Of new rows outside of the ranges their driving row is in the ranges then.  The same
        statement tells whether the new rows are well formed.
        """
        instants = {*chosen.instants}
        ((*found, checked, wrong),) = self.ask(comparison.found_instants(chosen))
        stamps = [us for us in found[chosen.picks :: 2] if us is not None]
        found = [*found[: chosen.picks], *found[chosen.picks + 1 :: 2]]
        self.not_too_much.checked_rows += int(checked)
        if wrong:
            self.judge(self.findings(comparison.outside(chosen)))
        for us in found:
            if us is not None:
                s = from_micros(us)
                instants |= {s, s - MICRO}
        ranges = chosen.ranges + around(from_micros(stamp) for stamp in stamps)
        return replace(chosen, instants=tuple(sorted(instants)), ranges=ranges, picks=0)

    def arms(self) -> Iterator[int]:
        """The arms of the outermost UNION ALL."""
        yield from range(1, len(self.definition.by_value) + 1)

    # -- their steps --------------------------------------------------------------------------
    def well_formed(self, comparison: Comparison) -> None:
        """Check that every row lies in the window, and every answer comes once."""
        checked, found = self.wrong_ones(comparison.outside, Chosen(()))
        self.not_too_much.checked_rows += checked
        self.judge(found)

    def wrong_ones(
        self, write: Callable[[Chosen], str], chosen: Chosen
    ) -> tuple[int, list[Finding]]:
        """Return how many pairs were compared, and the first page of wrong ones, if any."""
        ((checked, wrong),) = self.ask(write(replace(chosen, counted=True)))
        return int(checked), self.findings(write(chosen)) if wrong else []

    def findings(self, statement: str) -> list[Finding]:
        """Return the findings that a statement lists."""
        found = []
        for reason, us, matched, id_, key, *values in self.ask(statement):
            at = None if us is None else from_micros(us)
            matched_at = None if matched is None else from_micros(matched)
            found.append(Finding(reason, at, matched_at, key, tuple(values), id_))
        return found

    def compare(
        self,
        comparison: Comparison,
        chosen: Chosen,
        write: Callable[[Chosen], str] | None = None,
    ) -> None:
        """Compare at the chosen instants, page by page.

        ``write`` asks for what is missing only. That is asked about all of history then.
        """
        ask_for = write or comparison.both
        checked, page = self.wrong_ones(ask_for, chosen)
        self.enough.checked_rows += checked
        while True:
            if write is None:
                self.judge(page)
            missing = [f for f in page if f.reason == "missing"]
            # Where answers count by value, one in the ranges may have had another row before.
            self.count_lost(comparison, missing, () if comparison.by_value else chosen.ranges)
            if len(page) < PAGE or len(self.enough.findings) >= PAGE:
                return
            after = page[-1].id + page[-1].key
            page = self.findings(ask_for(replace(chosen, after=after)))

    def judge(self, page: Sequence[Finding]) -> None:
        """Count the rows that are too much, each once, at whatever instants it was found."""
        for finding in page:
            identity = (finding.key, finding.id, finding.matched_at)
            if finding.reason != "missing" and identity not in self._surplus:
                self._surplus.add(identity)
                self.not_too_much.add([finding])

    def delivered_again(self, comparison: Comparison, sample: Sample) -> None:
        """Check some new rows at the instants at which their values were published before.

        An answer that holds again held at none of the instants around; there it did.
        """
        # sql: a relation that the caller has quoted
        published = self.published()
        if not published:
            return
        some = Chosen((), sample.rows, seed=sample.seed)
        found = self.ask(comparison.delivered_before(published, some))
        instants = {s for _, us, _ in found if (s := from_micros(us)) >= self.rows.start}
        if instants:
            ids = sorted({id_ for id_, _, _ in found})
            ranges = around({from_micros(stamp) for _, _, stamp in found if stamp is not None})
            for chunk in _chunks(sorted(instants)):
                self.judge(self.findings(comparison.again(ids, chunk, ranges)))

    # -- was it an answer before? -------------------------------------------------------------
    def count_lost(
        self, comparison: Comparison, missing: Sequence[Finding], ranges: tuple[Range, ...]
    ) -> None:
        """Count what was no answer at any instant up to tau, each answer once.

        ``ranges`` hold the driving rows of those that are missing.
        """
        arm = comparison.arm
        unknown = [f for f in missing if (arm, f.id, f.key) not in self._answered]
        for finding, answered in self.earlier(comparison, unknown, ranges).items():
            self._answered[(arm, finding.id, finding.key)] = answered
            if not answered:
                self.enough.add([finding])

    def earlier(
        self, comparison: Comparison, missing: Sequence[Finding], ranges: tuple[Range, ...]
    ) -> dict[Finding, bool]:
        """Return, for each of some answers, whether it was one at an instant up to tau.

        First at tau and where the published rows of these values say so, which is nearly always
        enough; then at every event instant since time began.
        """
        asked = dict.fromkeys(missing, False)
        if self.rows.last is None or not asked:
            return asked
        left = {finding.id for finding in asked}
        for instants in self.candidates(comparison, asked):
            for some in _chunks(instants):
                found = set(self.ask(comparison.earlier(sorted(left), some, ranges)))
                for finding in asked:
                    asked[finding] = asked[finding] or (finding.id, finding.key) in found
                left = {f.id for f, answered in asked.items() if not answered}
                if not left:  # before the next instants are looked for: that reads all of history
                    return asked
        return asked

    def candidates(
        self, comparison: Comparison, asked: dict[Finding, bool]
    ) -> Iterator[list[datetime]]:
        """Instants up to tau, the likeliest first."""
        last = self.rows.last
        assert last is not None
        likely = {last}
        # sql: a relation that the caller has quoted
        if published := self.published():
            ids = sorted({finding.id for finding in asked})
            found = self.ask(comparison.published_instants(published, ids))
            likely |= {from_micros(us) for (us,) in found if us is not None}
        yield sorted(s for s in likely if self.rows.start <= s <= last)
        if self._before is None:
            self._before = [self.rows.start, *self.events(self.rows.start, last)]
        yield self._before

    def events(self, after: datetime, until: datetime) -> list[datetime]:
        """The event instants in ``(after, until]``."""
        found = self.ask(event_instants(self.definition, after, until))
        return sorted(from_micros(us) for (us,) in found)


def note_instants(results: Iterable[Result], count: int) -> None:
    """Raise the number of checked instants in results to ``count``, if it is less."""
    for result in results:
        result.instants = max(result.instants, count)


def between(random: Random, low: datetime, high: datetime) -> datetime:
    """An instant in ``(low, high]``."""
    span = (high - low) // MICRO
    return high if span <= 1 else high - random.randrange(span) * MICRO


def around(instants: Iterable[datetime]) -> tuple[Range, ...]:
    """Return at most ``APART`` ranges that hold all of some instants, and little else."""
    ordered = sorted(instants)
    gaps = sorted(range(1, len(ordered)), key=lambda n: ordered[n - 1] - ordered[n])
    cuts = [0, *sorted(gaps[: APART - 1]), len(ordered)]
    return tuple(
        (ordered[first], ordered[end - 1] + MICRO) for first, end in pairwise(cuts) if first < end
    )


def _chunks(instants: Sequence[datetime]) -> Iterator[Sequence[datetime]]:
    for first in range(0, len(instants), AT_ONCE):
        yield instants[first : first + AT_ONCE]
