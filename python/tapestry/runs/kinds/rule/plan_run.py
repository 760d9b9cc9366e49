"""The next run of a rule: the commits since the last one, evaluated all at once.

    changes    the changed rows of all commits of the window, read once
    commits    those of them that do what the rule waits for
    q↑         each query of the rule over all of these commits
    fired      the commits for which each query of the condition has found a row

Written, in this order: rows of the other bound tables and firings, under (generation, n); then the
rows of the rule's own table, which makes them count (rules, section 7).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from tapestry.errors import ChangesGone, ConfigurationError, QueryChanged
from tapestry.instants import from_micros, micros
from tapestry.quoting import relation_name
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.rule.evaluate import OverWindow
from tapestry.runs.kinds.rule.states import States, states_of
from tapestry.runs.kinds.rule.triggers import RuleText
from tapestry.runs.kinds.rule.write_run import WriteRule
from tapestry.runs.model.model import Model
from tapestry.runs.protocol.claimed_rows import first_row, following_row
from tapestry.runs.protocol.plan import CloseRun, Nothing, Plan
from tapestry.runs.protocol.standing import Standing
from tapestry.runs.query.views import Views
from tapestry.runs.sources.difference import feed_reaches
from tapestry.runs.sources.pins import Pin
from tapestry.runs.sources.transactions import CommitWindow, times_of, window_between
from tapestry.runs.tables.bound_rows import (
    AFTER,
    BOUND,
    START,
    TABLE,
)
from tapestry.runs.tables.state_row import Position, StateRow

LAST = "last_commit"
"""In what a rule keeps of its own: the time of the last commit that it has looked at."""


@dataclass(frozen=True)
class NextRuleRun:
    """One rule, where it stands, and who asks."""

    session: Session
    model: Model
    invocation: Invocation
    standing: Standing
    rule: RuleText

    def plan(self) -> Plan:
        """Close a run that did not land, make the table, or go on."""
        row = self.standing.row
        if row is None:
            first = self.first_version()
            return self.evaluate(first_row(self.model, self.standing, self.position()), first)
        if self.standing.closing or self.standing.crashed:
            return CloseRun(self.model, row)
        self.refuse_other(row)
        after = row.after.pins[self.name].version
        same = all(row.after.own.get(name) == one for name, one in self.told.items())
        if same and self.rule.table.pin.version <= after:
            return Nothing(self.model, self.invocation.clock.instant)
        window = self.window(after, row)
        if same and not window.commits:
            return Nothing(self.model, self.invocation.clock.instant)
        following = following_row(self.model, row, self.standing, self.position())
        return self.evaluate(following, window)

    @property
    def name(self) -> str:
        """The name of the table that it looks at."""
        return self.rule.table.table.name

    def refuse_other(self, row: StateRow) -> None:
        """Raise where the table or the rule is not what the last run has looked at.

        Raises ChangesGone for another table, QueryChanged for another rule.
        """
        pin = row.after.pins.get(self.name)
        if pin is None or pin.table_id != self.rule.table.pin.table_id:
            raise ChangesGone(
                f"{self.name} is another table than the one that {self.model.name} has looked at",
                where=self.model.file,
                hint="--full-refresh of the rule begins with the new one; what its actions have not"
                " done yet is dropped",
            )
        if row.after.canonical != self.rule.canonical:
            raise QueryChanged(
                f"{self.model.name} is another rule than the one whose firings wait in its table",
                where=self.model.file,
                hint="--full-refresh of the rule begins anew; what its actions have not done yet is"
                " dropped",
            )

    def first_version(self) -> CommitWindow:
        """The commits that the first run looks at."""
        begin = self.rule.config.begin.strip().lower()
        if begin.isdecimal():
            after = int(begin) - 1
        elif begin == "earliest":
            after = self.earliest()
        elif begin == "now":
            after = self.newest()
        else:
            raise ConfigurationError(
                f"begin: {begin} is no place in a table's history",
                where=self.model.file,
                hint="write now, earliest, or the version of the first commit to look at",
            )
        return self.window(max(after, -1), None)

    def newest(self) -> int:
        """The newest version that was made by now."""
        table, pin = self.rule.table.table, self.rule.table.pin
        times, t = times_of(self.session, table, pin.version), self.invocation.clock.instant
        return max((version for version, time in times.items() if time <= t), default=-1)

    def earliest(self) -> int:
        """The version before the oldest one of which the history and the feed still tell."""
        rows = self.session.rows(f"DESCRIBE HISTORY {relation_name(self.name)}")
        table, last = self.rule.table.table, self.rule.table.pin.version
        low, high = int(min(row[0] for row in rows)), last + 1
        while low < high:  # from some version on the feed has all
            middle = (low + high) // 2
            if feed_reaches(self.session, table, middle, last):
                high = middle
            else:
                low = middle + 1
        return low - 1

    def window(self, after: int, row: StateRow | None) -> CommitWindow:
        """The commits since a version, as far as they were made by now."""
        micros_of = None if row is None else row.after.own.get(LAST)
        last = None if micros_of is None else from_micros(int(micros_of))
        t, pin = self.invocation.clock.instant, self.rule.table.pin
        return window_between(self.session, self.rule.table.table, after, pin.version, last, t)

    def position(self, states: States | None = None) -> Position:
        """The position of the rule when the run is over."""
        row = self.standing.row
        own: dict[str, Any] = self.told
        last = None if row is None else row.after.own.get(LAST)
        pins = {name: one.pin for name, one in self.rule.relations.tables.items()}
        pins[self.name] = self.rule.table.pin
        if states is not None:
            pins |= states.pins
            pins[self.name] = Pin(self.rule.table.pin.table_id, states.window.until)
            if states.window.commits:
                last = micros(states.window.commits[-1].time)
        if last is not None:
            own[LAST] = last
        own[START] = self.rule.table.pin.version
        if row is not None:
            own[START] = row.after.own.get(START, own[START])
        elif states is not None:
            own[START] = states.window.after
        t = self.invocation.clock.instant
        if row is not None:
            t = max(t, row.after.t)  # a run at an earlier instant takes nothing back
        return Position(t, pins, self.rule.canonical, own)

    @property
    def told(self) -> dict[str, Any]:
        """The rule tells this to its actions."""
        after = self.rule.config.after // timedelta(microseconds=1)
        return {BOUND: list(self.rule.queries.texts), AFTER: after, TABLE: self.name}

    def evaluate(self, row: StateRow, window: CommitWindow) -> Plan:
        """Find out what fires, and what is bound by it."""
        views, state = Views(self.session), self.invocation.state_table
        before = None if row.before is None else row.before.pins
        states = states_of(self.session, self.rule, window, before)
        try:
            found = OverWindow(self.session, self.rule, states, views).evaluate()
        except BaseException:
            views.release()
            raise
        row = replace(row, after=self.position(states))
        return WriteRule(self.session, self.model, self.standing, state, row).planned(found, views)
