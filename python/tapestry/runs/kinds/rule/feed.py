"""The commits of a table as transactions, with the rows that each of them has changed.

cdf     they are read from its change data feed; for a commit that has written the table anew from
        the versions before and after it, where the rule does not say otherwise (on_overwrite)
diff    they are the differences of the versions before and after each commit
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from tapestry.errors import ConfigurationError, SourceRewritten
from tapestry.instants import from_micros, micros
from tapestry.quoting import identifier, identifiers, relation_name
from tapestry.runs.engine.column_types import sql_type
from tapestry.runs.engine.instants import show
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.rule.config import BEGIN_NOW, CDF, DIFF, EARLIEST
from tapestry.runs.kinds.rule.states import States, states_of
from tapestry.runs.kinds.rule.triggers import RuleText
from tapestry.runs.kinds.rule.windows import TransactionWindow, WindowReached
from tapestry.runs.query.views import Views
from tapestry.runs.sources.difference import feed_of, feed_reaches
from tapestry.runs.sources.pins import Pin, Pinned
from tapestry.runs.sources.row_ids import PAIR, RowIds
from tapestry.runs.sources.transactions import (
    HOW,
    TYPE,
    ChangedInWindow,
    CommitWindow,
    gone,
    times_of,
    window_between,
)
from tapestry.runs.sources.version_diff import VersionDiffs
from tapestry.runs.tables.state_row import StateRow
from tapestry.sql.catalog import Column
from tapestry.sql.commits.transitions import ADDED, TRANSACTION

logger = logging.getLogger(__name__)
LAST = "last_commit"
"""In what a rule keeps of its own: the time of the last commit that it has looked at."""


@dataclass(frozen=True)
class FeedSource:
    """The commits of a rule's table; ``t`` is the instant of the run."""

    session: Session
    rule: RuleText
    t: datetime

    def first(self) -> TransactionWindow:
        """Return the commits that the first run looks at."""
        after = begin_after(self.session, self.rule, self.t, self.earliest)
        return self.between(after, None, None)

    def following(self, row: StateRow) -> TransactionWindow:
        """Return the commits after those of a run."""
        return self.between(row.after.pins[self.rule.name].version, _last(row), row.after.pins)

    def between(
        self, after: int, last: datetime | None, before: Mapping[str, Pin] | None
    ) -> FeedWindow:
        """Return the commits since a version, as far as they were made by t."""
        table = self.rule.table
        window = window_between(self.session, table.table, after, table.pin.version, last, self.t)
        states = states_of(self.session, self.rule, self.bounded(window), before)
        return FeedWindow(self.session, self.rule, states, last)

    def bounded(self, window: CommitWindow) -> CommitWindow:
        """Return as many of the commits as a run compares by their versions.

        Raises SourceRewritten for one that has written the table anew, where the rule says so.
        """
        config = self.rule.config
        odd = [place for place, one in enumerate(window.commits) if one.overwrites]
        if config.changes == CDF and config.on_overwrite == "fail" and odd:
            raise overwritten(self.rule, window.commits[odd[0]].version)
        if config.changes == DIFF:
            odd = list(range(len(window.commits)))
        elif config.on_overwrite == "fire":
            odd = []
        if pairs_by_ids(self.rule):
            several = (place for place, one in enumerate(window.commits) if one.several)
            odd = sorted({*odd, *several})
        if len(odd) <= config.diff_commits:
            return window
        logger.warning(
            "%s: a run compares %d versions of %s at most, %d commits are left to the next one",
            self.rule.model.name, config.diff_commits, self.rule.name,
            len(window.commits) - odd[config.diff_commits],
        )  # fmt: skip
        return replace(window, commits=window.commits[: odd[config.diff_commits]])

    def passing(self, row: StateRow) -> FeedWindow:
        """Return a window without commits, as if those since the run of a row had not been."""
        table = self.rule.table
        window = CommitWindow(table.table, table.pin.version, ())
        states = states_of(self.session, self.rule, window, row.after.pins)
        return FeedWindow(self.session, self.rule, states, _last(row))

    def earliest(self) -> int:
        """Return the version before the oldest one that history and feed still have."""
        rows = self.session.rows(f"DESCRIBE HISTORY {relation_name(self.rule.name)}")
        table, last = self.rule.table.table, self.rule.table.pin.version
        low, high = int(min(row[0] for row in rows)), last + 1
        if self.rule.config.changes == DIFF:  # the version before is read too
            return low if low > 0 else -1
        while low < high:  # from some version on the feed has all
            middle = (low + high) // 2
            if feed_reaches(self.session, table, middle, last):
                high = middle
            else:
                low = middle + 1
        return low - 1


def _last(row: StateRow) -> datetime | None:
    """Return when the last commit that a run has looked at was made."""
    found = row.after.own.get(LAST)
    return None if found is None else from_micros(int(found))


def newest_by(session: Session, rule: RuleText, t: datetime) -> int:
    """Return the newest version of a rule's table that was made by t."""
    times = times_of(session, rule.table.table, rule.table.pin.version)
    return max((version for version, time in times.items() if time <= t), default=-1)


def begin_after(session: Session, rule: RuleText, t: datetime, earliest: Callable[[], int]) -> int:
    """Return the version after which a rule begins, according to `begin`.

    ``earliest`` finds the one before the oldest that is still known. Raises ConfigurationError for
    a future instant, ChangesGone for one before all known versions.
    """
    begin = rule.config.begin
    if isinstance(begin, datetime):
        refuse_later(rule, begin, t)
        return _before(session, rule, begin)
    if begin == EARLIEST:
        return max(earliest(), -1)
    if begin == BEGIN_NOW:
        return newest_by(session, rule, t)
    return max(int(begin) - 1, -1)


def refuse_later(rule: RuleText, begin: datetime, t: datetime) -> None:
    """Raise ConfigurationError for a rule that begins after the instant of its first run."""
    if begin > t:
        raise ConfigurationError(
            f"begin: {show(begin)} is later than this run, which is as of {show(t)}",
            where=rule.model.file,
            hint="run the rule after that instant, or leave begin out",
        )


def _before(session: Session, rule: RuleText, begin: datetime) -> int:
    """Return the version before the first one that was made at an instant or later.

    Raises ChangesGone where the log does not tell which that is.
    """
    table, last = rule.table.table, rule.table.pin.version
    times = times_of(session, table, last)
    first = min((version for version, time in times.items() if time >= begin), default=last + 1)
    if first == min(times) and first > 0:
        why = f"its log begins with version {first}, which is later than {show(begin)}"
        raise gone(table, -1, first - 1, why)
    return first - 1


@dataclass(frozen=True)
class FeedWindow:
    """A window of commits; ``last`` is the time of the one before it."""

    session: Session
    rule: RuleText
    states: States
    last: datetime | None

    @property
    def empty(self) -> bool:
        """Whether no commit has come."""
        return not self.states.window.commits

    @property
    def columns(self) -> Sequence[Column]:
        """The columns of the table's changed rows."""
        return self.rule.changed

    @property
    def moved(self) -> Collection[str]:
        """The tables that are not the same at all commits."""
        return self.states.moved

    def rows_at_each(self, name: str, pinned: Pinned) -> str:
        """Return a SELECT of another table's rows as they were at the commits."""
        return self.states.rows_at_each(name, pinned)

    def depth_of(self, version: str) -> str:
        """Return SQL: how deep in a chain of actions a commit is."""
        return self.states.window.depth_of(version)

    def reached(self) -> WindowReached:
        """Return how far the rule is after these commits."""
        window = self.states.window
        last = window.commits[-1].time if window.commits else self.last
        own = {} if last is None else {LAST: micros(last)}
        return WindowReached(window.until, window.after, self.states.pins, own)

    def read_changes(self, views: Views, n: int) -> str:
        """Return a view of the changed rows of all commits.

        Raises CannotPair where it matters which new row was which old one, and that is not known;
        ChangesGone where the feed does not reach back.
        """
        table, window = self.rule.table.table, self.states.window
        if not window.commits:
            return views.keep(no_changes(self.columns))
        key, feed = self.rule.config.key, self.feed()
        paired = self.rule.paired or self.rule.config.changes == DIFF
        how = by_key = ChangedInWindow(window, key, paired, table.columns, feed)
        if pairs_by_ids(self.rule):  # two keys that were exchanged look like two plain updates
            several = [one.version for one in window.commits if one.several]
            how = (self.by_ids(by_key, several) if several else None) or by_key
        view = self.computed(views, how)
        odd = [int(one) for (one,) in self.session.rows(how.unpaired(view))] if paired else []
        if odd and not key and table.row_tracking and len(odd) <= self.rule.config.diff_commits:
            by_ids = self.by_ids(how, odd)
            if by_ids is not None:
                view = self.computed(views, by_ids)
                odd = [int(one) for (one,) in self.session.rows(by_ids.unpaired(view))]
        if odd:
            raise by_key.cannot_pair(odd[0])
        return view

    def computed(self, views: Views, how: ChangedInWindow) -> str:
        """Return a view of the changed rows; raise ChangesGone where the feed is too short."""
        window = self.states.window
        try:
            return views.compute(how.select())
        except Exception as error:
            if not feed_gone(error):
                raise
            why = "its change data feed does not reach back that far"
            raise gone(window.table, window.after, window.until, why) from error

    def by_ids(self, how: ChangedInWindow, odd: Sequence[int]) -> ChangedInWindow | None:
        """Return the changes with some commits' images paired by row ids; None: ids cannot."""
        window, table = self.states.window, self.rule.table.table
        names = identifiers(column.name for column in table.columns)
        told = RowIds(self.session, table, table.columns).with_ids(odd)
        if told is None:
            return None
        feed = how.feed or feed_of(table, window.after + 1, window.until)
        listed = ", ".join(str(version) for version in odd)
        keys = ", ".join(f"CAST({identifier(name)} AS STRING)" for name in how.key)
        own = f"to_json(array({keys}))" if keys else "CAST(NULL AS STRING)"
        others = (
            f"SELECT {names}, {own} AS {PAIR}, _change_type, _commit_version"
            f" FROM {feed} WHERE _commit_version NOT IN ({listed})"
        )
        told = (
            f"SELECT {names}, CAST({PAIR} AS STRING), _change_type, _commit_version FROM ({told})"
        )
        return replace(how, key=(PAIR,), feed=f"({others} UNION ALL {told})")

    def feed(self) -> str:
        """Return a relation in the form of the change feed; "": the feed itself."""
        config, table, window = self.rule.config, self.rule.table.table, self.states.window
        diffs = VersionDiffs(self.session, table, table.columns, config.key)
        if config.changes == DIFF:
            return f"({diffs.told_apart([one.version for one in window.commits])})"
        odd = [one.version for one in window.commits if one.overwrites]
        if not odd or config.on_overwrite == "fire":
            return ""
        names = identifiers(column.name for column in table.columns)
        parts = [diffs.told_apart(odd)]
        others = sorted({one.version for one in window.commits} - set(odd))
        if others:
            listed = ", ".join(map(str, odd))
            # One feed of all of them: two feeds of a table in a statement are one to Spark 4.1.
            parts.append(
                f"SELECT {names}, _change_type, _commit_version"
                f" FROM {feed_of(table, others[0], others[-1])}"
                f" WHERE _commit_version NOT IN ({listed})"
            )
        return f"({' UNION ALL '.join(parts)})"


def pairs_by_ids(rule: RuleText) -> bool:
    """Return whether row ids tell which new row of a commit's updates was which old one.

    Where Delta keeps them they do, and the key only where they do not (rules, section 3).
    """
    config = rule.config
    tracked = rule.table.table.row_tracking and config.changes == CDF
    return bool(tracked and config.key and rule.paired)


def overwritten(rule: RuleText, version: int) -> SourceRewritten:
    """Return the error for a commit that has written the table anew."""
    return SourceRewritten(
        f"version {version} has written {rule.name} anew",
        where=rule.model.file,
        hint="on_overwrite: diff lets the rule see the rows that differ, fire each row as deleted"
        " and each as inserted; or --full-refresh of the rule begins after it",
    )


def no_changes(columns: Sequence[Column]) -> str:
    """Return a SELECT of no changed rows."""
    nothing = ", ".join(
        f"CAST(NULL AS {sql_type(c.type)}) AS {identifier(c.name)}" for c in (*columns, *ADDED)
    )
    return (
        f"SELECT {nothing}, CAST(NULL AS BIGINT) AS {TRANSACTION}, '' AS {TYPE}, 0 AS {HOW}"
        " FROM range(0)"
    )


def feed_gone(error: BaseException) -> bool:
    """Return whether an error says that a change feed was not kept over all requested versions."""
    text = str(error)
    return "DELTA_MISSING_CHANGE_DATA" in text or "DELTA_CHANGE_DATA" in text
