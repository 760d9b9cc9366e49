"""The life of an action: which firings of its rules belong to it, and by which unit of batching.

begin   the first run of the action, a --full-refresh, another unit of batching
unit    what the rows of a batch have in common (`unique`, `unique_on`): the batches of one unit
        say nothing about those of another one, which has other keys

So a life ends where the unit changes. The next one begins behind the firings that were taken, and
no firing may wait then: its batches would have rows of which some were acted upon.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import uuid4

from tapestry.errors import ConfigurationError
from tapestry.instants import LAST
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.action.config import BY_CLOCK, config_of, with_unit
from tapestry.runs.kinds.action.rules_read import RuleRead, has_columns
from tapestry.runs.kinds.action.spent_rows import SpentRows
from tapestry.runs.kinds.action.waiting import WaitingFirings
from tapestry.runs.model.model import Model
from tapestry.runs.model.triggers import triggers_of
from tapestry.runs.tables.action_batch import ActionLife
from tapestry.runs.tables.batches import BatchesOfAction
from tapestry.words import counted

logger = logging.getLogger(__name__)
MOST = 10_000
BEFORE_ALL = ("", -1)
"""The beginning of a life for a rule that had not run then: all its firings belong to the life."""


@dataclass(frozen=True)
class LivesOfAction:
    """Finds the life to which a run of an action belongs; writes nothing."""

    session: Session
    model: Model
    invocation: Invocation
    batches: BatchesOfAction
    rules: Sequence[RuleRead]

    @property
    def unit(self) -> str:
        """The unit of batching in the author's present configuration."""
        return config_of(self.model.config.own).unit

    def of_run(self, last: ActionLife | None, anew: bool) -> ActionLife:
        """Return the life of a run after the ``last`` one, or that one if nothing begins another.

        ``anew``: the author wants a new one, and waiting batches are dropped. Raises
        ConfigurationError where the unit has changed, and batches of the former one wait.
        """
        if last is None:
            begin = dict.fromkeys(triggers_of(self.model), BEFORE_ALL)
            begin |= {one.relation: (one.generation, self.first_begin(one)) for one in self.rules}
            return ActionLife(self.model.relation, uuid4().hex, 1, begin, self.unit)
        if anew:
            self.tell_dropped(last)
            begin = {one.relation: (one.generation, self.newest(one)) for one in self.rules}
            return ActionLife(last.action, uuid4().hex, last.number + 1, begin, self.unit)
        added = {
            one.relation: (one.generation, self.first_begin(one))
            for one in self.rules
            if one.relation not in last.begin
        }
        if last.unit is None or last.unit == self.unit:
            more = replace(last, number=last.number + 1, begin={**last.begin, **added})
            return more if added else last
        if self.batches.last_round(last) == 0:
            begin, name = {**last.begin, **added}, last.id
        else:
            self.refuse_waiting(last)
            begin, name = {**self.behind_taken(last), **added}, uuid4().hex
        return ActionLife(last.action, name, last.number + 1, begin, self.unit)

    def first_begin(self, rule: RuleRead) -> int:
        """Return the last firing of a rule that does not count for an action that is new to it.

        The earlier firings of a rule that has run more than once do not count, except for a derived
        table, which itself says which it holds.
        """
        if rule.n <= 1 or rule.baseline >= 0:
            return -1
        newest = self.newest(rule)
        if newest >= 0:
            logger.warning(
                "%s is new to %s: what that has bound so far is not acted upon",
                self.model.name, rule.relation,
            )  # fmt: skip
        return newest

    def newest(self, rule: RuleRead) -> int:
        """Return the newest firing of a rule; -1: there is none."""
        every = replace(rule, baseline=-1)
        waiting = self.waiting(ActionLife("", "", 0, {}), [every])
        return waiting.newest().get(rule.relation, -1)

    def waiting(self, life: ActionLife, rules: Sequence[RuleRead]) -> WaitingFirings:
        """Return the firings of rules that wait in a life, in batches of its unit."""
        config = with_unit(config_of(self.model.config.own), life.unit or "")
        return WaitingFirings(self.session, self.model, config, life, rules, self.invocation)

    def spent_rows(self, waiting: WaitingFirings) -> SpentRows:
        """Return the rules' rows that are over, beside those that wait in a life."""
        return SpentRows(self.session, self.invocation, self.batches, self.rules, waiting)

    def tell_dropped(self, last: ActionLife) -> None:
        """Warn of the waiting batches of a life that ends by a --full-refresh."""
        many = self.left(last, self.rules)
        if many:
            logger.warning(
                "%s begins anew: %s not executed, and dropped",
                self.model.name, counted(many, "batch was", "batches were"),
            )  # fmt: skip

    def left(self, last: ActionLife, rules: Sequence[RuleRead]) -> int:
        """Return how many batches of a life are not over, or wait."""
        columns = with_unit(config_of(self.model.config.own), last.unit or "").unique_on
        known = [one for one in rules if has_columns(one, columns)]
        waiting = self.waiting(last, known).due(LAST, MOST) if known else []
        return len(waiting) + len(self.batches.unfinished(last))

    def refuse_waiting(self, last: ActionLife) -> None:
        """Raise ConfigurationError where something waits in a life of another unit."""
        many = self.left(last, [one for one in self.rules if self.is_known(last, one)])
        if many:
            told, name = _told(last.unit or ""), self.model.name
            by_clock = config_of(self.model.config.own).batching == BY_CLOCK
            way = f"let tapestry rules run {name} --now execute them"
            if by_clock:
                way = "run it until they are released and executed"
            raise ConfigurationError(
                f"{self.model.name} is to have other batches than before ({told}),"
                f" and {counted(many, 'batch', 'batches')} of the former ones"
                f" {'waits' if many == 1 else 'wait'}",
                where=self.model.file,
                hint=f"write unique and unique_on as before, {way}, then change it;"
                " or --full-refresh of the action drops what waits",
            )

    def is_known(self, last: ActionLife, rule: RuleRead) -> bool:
        """Return whether batches of a life may have taken firings of a rule's present table."""
        begun = last.begin.get(rule.relation, ("?", -1))
        return (
            begun == BEFORE_ALL
            or rule.generation == begun[0]
            or rule.generation in self.batches.generations(last, rule.relation)
        )

    def behind_taken(self, last: ActionLife) -> dict[str, tuple[str, int]]:
        """Return, by rule, where a life begins after one in which nothing waits any more.

        For a rule that was built again and whose firings were not taken yet, that is unchanged.
        """
        begin = dict(last.begin)
        for rule in self.rules:
            if rule.relation in last.begin and self.is_known(last, rule):
                begin[rule.relation] = (rule.generation, self.newest(rule))
        return begin


def _told(unit: str) -> str:
    return {"[]": "unique: true", "": "one for each firing"}.get(unit, f"unique_on: {unit}")
