"""Removes rows of a rule that all of its actions are done with, once `keep` is over.

    mark     an action notes now and then up to which firing all of a rule are over for it
    remove   firings up to which every action of the rule had come when `keep` was not yet over

A removal is noted before it is executed. All of it is a condition on the number of a firing, which
is never used again: a process that is killed in between, or does it twice, removes nothing else.
Rows that wait, are claimed, have failed or are dead are above each mark (rules, section 12).

The head of the last removed firing stays in the table of firings: it tells how far the commits
were acted upon.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import uuid4

from tapestry.errors import BaselineGap
from tapestry.instants import now_utc
from tapestry.quoting import relation_name, string, timestamp
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.own_tables import remove_rows
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.action.landing import APP_ID, APP_VERSION, METADATA, apart
from tapestry.runs.kinds.action.rules_read import RuleRead
from tapestry.runs.kinds.action.waiting import WaitingFirings
from tapestry.runs.protocol import crash
from tapestry.runs.tables.action_batch import ActionBatch, ActionStanding
from tapestry.runs.tables.batches import BatchesOfAction, newest_lives
from tapestry.runs.tables.bound_rows import FIRING, KEEP, KEPT
from tapestry.runs.tables.firings import MARKS, firings_table
from tapestry.runs.tables.kept import MARKS as BESIDE_MARKS
from tapestry.runs.tables.spent import (
    REMOVED,
    SpentMark,
    note_marks,
    removal_id,
    spent_marks,
    spent_table,
)
from tapestry.runs.tables.target import metadata
from tapestry.words import without_stack

logger = logging.getLogger(__name__)
A_PART = 8
"""An action notes how far it is so often while rows are kept."""


@dataclass(frozen=True)
class SpentRows:
    """The rules of an action, the firings that wait in its life, and its batches."""

    session: Session
    invocation: Invocation
    batches: BatchesOfAction
    rules: Sequence[RuleRead]
    waiting: WaitingFirings

    @property
    def state(self) -> str:
        """The name of the table of the state, beside which the others stand."""
        return self.invocation.state_table

    def marks(self) -> list[SpentMark]:
        """Read the marks of the rules as they stand."""
        return spent_marks(self.session, self.state, [rule.generation for rule in self.rules])

    def refuse_removed(self, rules: Sequence[RuleRead]) -> None:
        """Raise BaselineGap for rules new to a life whose removed rows no derived table holds.

        The derived tables are those that the action writes.
        """
        held = [rule for rule in rules if rule.baseline >= 0]
        marks = self.marks() if held else []
        for rule in held:
            gone = _removed(rule, marks)
            if gone < 0:
                continue
            found = self.session.rows(
                f"SELECT 1 FROM {relation_name(firings_table(self.state).name)} WHERE"
                f" {rule.firings}"
                f" AND firing <= {gone:d} AND commit_version > {rule.baseline:d} LIMIT 1"
            )
            if found:
                raise BaselineGap(
                    f"{self.batches.action} comes to {rule.relation} when rows are gone already"
                    " that the tables do not hold which it writes (keep)",
                    hint="build these tables anew: --full-refresh",
                )

    def is_due(self, standing: ActionStanding) -> bool:
        """Is this the first run of the action for a part of the time for which rows are kept?

        ``standing`` is how it stood before.
        """
        if standing.last is None or standing.rounds == 0:
            return True
        parts = [self.kept_for(rule) / (2 * A_PART) for rule in self.rules]
        then, now = standing.last.timestamp(), now_utc().timestamp()
        lengths = (part.total_seconds() for part in parts)
        return any(not most or then // most != now // most for most in lengths)

    def let_go(self) -> None:
        """Note how far the action is, and remove rows that are over; an error is a warning."""
        try:
            marks, now = self.marks(), now_utc()
            marks += self.note_how_far(marks, now)
            for rule in self.rules:
                last = self.over(rule, marks, now - self.kept_for(rule))
                if last > _removed(rule, marks):
                    self.remove(rule, last, now)
        except Exception as error:
            said = without_stack(str(error))
            logger.warning("%s: rows that are over stay: %s", self.batches.action, said)

    def kept_for(self, rule: RuleRead) -> timedelta:
        """Return how long the rows of a rule are kept when all is done."""
        row = self.invocation.states.of(self.session, rule.generation)
        micros = None if row is None else row.after.own.get(KEEP)
        return KEPT if micros is None else timedelta(microseconds=int(micros))

    def note_how_far(self, marks: Sequence[SpentMark], now: datetime) -> list[SpentMark]:
        """Note how far the action is, for rules whose mark is missing or old."""
        mine = [one for one in marks if one.life == self.waiting.life.id]
        due = []
        for rule in self.rules:
            last = max((one.at for one in mine if one.rule == rule.relation), default=None)
            if last is None or now - last >= self.kept_for(rule) / A_PART:
                due.append(rule)
        if not due:
            return []
        far = self.how_far(due)
        before = {rule.relation: -1 for rule in due}
        for one in mine:
            before[one.rule] = max(before.get(one.rule, -1), one.until)
        return self.note({name: until for name, until in far.items() if until > before[name]}, now)

    def how_far(self, rules: Sequence[RuleRead]) -> dict[str, int]:
        """Return, by rule, the firing up to which all are over; no rule that has not fired yet."""
        waiting = self.waiting
        newest = waiting.newest()
        pending = " UNION ALL ".join(waiting.pending(rule) for rule in rules)
        first = self.session.rows(
            f"{waiting.done()}SELECT rule, min(firing) FROM ({pending}) GROUP BY rule"
        )
        far = {rule.relation: newest.get(rule.relation, -1) for rule in rules}
        for name, firing in first:
            far[str(name)] = min(far[str(name)], int(firing) - 1)
        # Read after what waits: a batch that is claimed in between is seen here.
        opened = self.batches.unfinished(waiting.life)
        for rule in rules:
            mine = [one for one in opened if self.is_of(one, rule)]
            if mine:
                far[rule.relation] = min(far[rule.relation], self.before(mine, rule))
        return far

    def is_of(self, batch: ActionBatch, rule: RuleRead) -> bool:
        """Return whether a batch has firings of a rule as it stands."""
        cut = batch.cut.get(rule.relation)
        return cut is not None and cut.generation == rule.generation

    def before(self, batches: Sequence[ActionBatch], rule: RuleRead) -> int:
        """Return a firing of a rule that is before all of some batches.

        The cut of a key begins with what was done of the key last, however long ago.
        """
        first = min(one.first_commit_time for one in batches)
        ((firing,),) = self.session.rows(
            f"SELECT min(firing) FROM {relation_name(firings_table(self.state).name)} WHERE"
            f" {rule.firings}"
            f" AND commit_time >= {timestamp(first)}"
        )
        after = min(one.cut[rule.relation].after for one in batches)
        return after if firing is None else max(after, int(firing) - 1)

    def note(self, far: dict[str, int], now: datetime) -> list[SpentMark]:
        """Write down how far the action is with some rules."""
        life = self.waiting.life
        generations = {rule.relation: rule.generation for rule in self.rules}
        marks = [
            SpentMark(name, generations[name], life.action, life.id, until, now)
            for name, until in far.items()
        ]
        note_marks(self.session, self.state, marks)
        return marks

    def over(self, rule: RuleRead, marks: Sequence[SpentMark], by: datetime) -> int:
        """Return the firing up to which all were over for every action of a rule at some moment."""
        mine = [one for one in marks if one.rule == rule.relation]
        found = []
        for life in newest_lives(self.session, self.batches.table):
            of_life = [one for one in mine if one.life == life.id]
            if of_life or rule.relation in life.begin:
                found.append(max((one.until for one in of_life if one.at <= by), default=-1))
        return min(found, default=-1)

    def remove(self, rule: RuleRead, last: int, now: datetime) -> None:
        """Remove the rows of a rule's firings up to one."""
        told = SpentMark(rule.relation, rule.generation, REMOVED, "", last, now)
        note_marks(self.session, self.state, [told])
        crash.point("removal_noted")
        said = metadata(rule.generation, rule.n, uuid4().hex, {})
        # Once the rule is built again, a transaction of this name is skipped: the numbers of its
        # firings begin anew then.
        under = {APP_ID: removal_id(rule.generation), APP_VERSION: str(last + 1), METADATA: said}
        main, *beside = rule.bound.values()
        with apart(self.session, under) as own:
            remove_rows(own, main.table, f"{FIRING} <= {last:d}")
        crash.point("rows_removed")
        for table in beside:
            counts = BESIDE_MARKS.counts(rule.generation, rule.n, own=True)
            remove_rows(self.session, table.table, f"{counts} AND {FIRING} <= {last:d}")
        name = string(rule.relation)
        counts = MARKS.counts(rule.generation, rule.n, own=True)
        heads = f"rule = {name} AND {counts} AND firing < {last:d}"
        remove_rows(self.session, firings_table(self.state).name, heads)
        older = f"rule = {name} AND generation = {string(rule.generation)} AND until < {last:d}"
        remove_rows(self.session, spent_table(self.state).name, older)


def _removed(rule: RuleRead, marks: Sequence[SpentMark]) -> int:
    """Return the firing up to which a rule's rows were removed, or are to be; -1: none."""
    gone = (one.until for one in marks if one.rule == rule.relation and one.action == REMOVED)
    return max(gone, default=-1)
