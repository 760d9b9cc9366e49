"""Plans the next run of a rule: the commits since the last one, evaluated all at once.

    changes    the changed rows of all commits of the window, read once
    commits    those of them with an event that triggers the rule
    q↑         each query of the rule over all of these commits
    fired      the commits for which each query of the condition has found a row

Written, in this order: rows of the other bound tables and firings, under (generation, n); then the
rows of the rule's own table, which makes them count (rules, section 7).
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from tapestry.errors import ChangesGone
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.rule.evaluate import OverWindow
from tapestry.runs.kinds.rule.feed import FeedSource
from tapestry.runs.kinds.rule.log_window import LogSource
from tapestry.runs.kinds.rule.other_rule import (
    refuse_other_columns,
    refuse_other_query,
    refuse_other_table,
)
from tapestry.runs.kinds.rule.triggers import RuleText
from tapestry.runs.kinds.rule.windows import ChangesSource, TransactionWindow, WindowReached
from tapestry.runs.kinds.rule.write_run import WriteRule
from tapestry.runs.model.model import Model
from tapestry.runs.protocol.claiming import first_row, following_row
from tapestry.runs.protocol.plan import CloseRun, Nothing, Plan
from tapestry.runs.protocol.standing import Standing
from tapestry.runs.query.views import Views
from tapestry.runs.sources.pins import Pin
from tapestry.runs.tables.bound_rows import (
    AFTER,
    BOUND,
    GAP,
    KEEP,
    START,
    TABLE,
)
from tapestry.runs.tables.state_row import Position, StateRow
from tapestry.words import counted

logger = logging.getLogger(__name__)
SKIP, REBUILD = "skip", "rebuild"


@dataclass(frozen=True)
class NextRuleRun:
    """A rule, its standing, and the session and invocation that plan its run."""

    session: Session
    model: Model
    invocation: Invocation
    standing: Standing
    rule: RuleText

    def plan(self) -> Plan:
        """Close a run that did not land, make the table, or go on."""
        row, source = self.standing.row, self.source
        if row is None:
            return self.evaluate(
                first_row(self.model, self.standing, self.position()), source.first()
            )
        if self.standing.closing or self.standing.crashed:
            return CloseRun(self.model, row)
        refuse_other_query(self.rule, row)
        refuse_other_table(self.session, self.rule, row)
        following = following_row(self.model, row, self.standing, self.position())
        try:
            window = source.following(row)
            if self.is_same(row) and window.empty:
                return Nothing(self.model, self.invocation.clock.instant)
            return self.evaluate(following, window)
        except ChangesGone as error:
            how = self.rule.config.on_changes_gone
            if how not in (SKIP, REBUILD):
                raise
            versions = self.rule.table.pin.version - row.after.pins[self.rule.name].version
            logger.warning(
                "%s leaves out what %s of %s changed: %s%s", self.model.name,
                counted(max(versions, 1), "version"), self.rule.name, error.reason,
                "; derived tables are built again when they run" if how == REBUILD else "",
            )  # fmt: skip
            return self.evaluate(following, source.passing(row), how == REBUILD)

    def is_same(self, row: StateRow) -> bool:
        """Is the rule the one of the last run? Another one is looked at before a commit comes."""
        told = all(row.after.own.get(name) == one for name, one in self.told.items())
        return told and row.after.canonical == self.rule.canonical

    @property
    def source(self) -> ChangesSource:
        """Return the source of the changes of the table."""
        t = self.invocation.clock.instant
        if self.rule.log is not None:
            return LogSource(self.session, self.rule, self.rule.log, t)
        return FeedSource(self.session, self.rule, t)

    def position(self, reached: WindowReached | None = None, gap: bool = False) -> Position:
        """Return the position of the rule when the run is over.

        ``gap``: earlier commits were left out, and derived tables have to be built again.
        """
        row, table = self.standing.row, self.rule.table.pin
        own: dict[str, Any] = self.told
        pins = {name: one.pin for name, one in self.rule.relations.tables.items()}
        pins[self.rule.name] = table
        own[START] = table.version
        if reached is not None:
            pins |= reached.pins
            pins[self.rule.name] = Pin(table.table_id, reached.version)
            own |= {**reached.own, START: reached.start}
        t = self.invocation.clock.instant
        if row is not None:
            own |= {name: row.after.own[name] for name in (START, GAP) if name in row.after.own}
            if gap and reached is not None:  # its actions go on from there
                own |= {START: reached.version, GAP: reached.version}
            t = max(t, row.after.t)  # a run at an earlier instant takes nothing back
        return Position(t, pins, self.rule.canonical, own)

    @property
    def told(self) -> dict[str, Any]:
        """Return the facts about the rule that its actions read."""
        config, one = self.rule.config, timedelta(microseconds=1)
        return {
            BOUND: list(self.rule.queries.texts),
            AFTER: config.after // one,
            TABLE: self.rule.name,
            KEEP: config.keep // one,
        }

    def evaluate(self, row: StateRow, window: TransactionWindow, gap: bool = False) -> Plan:
        """Find what fires, and the rows bound by it; ``gap`` as in ``position``."""
        views, state = Views(self.session), self.invocation.state_table
        try:
            found = OverWindow(self.session, self.rule, window, views).evaluate(row.n)
            before = self.standing.row
            if before is not None:
                refuse_other_columns(self.session, self.rule, before, found)
            row = replace(row, after=self.position(window.reached(), gap))
        except BaseException:
            views.release()
            raise
        write = WriteRule(self.session, self.model, self.standing, state, row)
        return replace(write.planned(found, views), little=self.rule.relations.little)
