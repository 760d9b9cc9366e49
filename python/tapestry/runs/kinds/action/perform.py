"""A round of batches: claimed in one commit, each executed once, noted in one commit.

    claim      one INSERT under (action and life, m): one process wins the round
    execute    each statement of a batch under a transaction of its own: it lands once, whoever
               executes it again, in whatever order
    done       one INSERT for the round

Killed before the claim nothing has happened; after it the same cuts are executed again, once the
lease is over, and what has landed is skipped (rules, section 7).
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from time import monotonic
from uuid import NAMESPACE_URL, uuid4, uuid5

from tapestry.errors import ActionFailed, ConfigurationError
from tapestry.instants import now_utc
from tapestry.quoting import relation_name, string
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.action.baselines import Baselines, unheld_rules
from tapestry.runs.kinds.action.config import ActionConfig, config_of
from tapestry.runs.kinds.action.python_call import FunctionCall, parts_of, targets_of
from tapestry.runs.kinds.action.rules_read import RuleRead, read_rules, split_by
from tapestry.runs.kinds.action.statement import (
    ActionStatement,
    bound_names,
    bound_rows,
    said_of,
)
from tapestry.runs.kinds.action.waiting import WaitingFirings
from tapestry.runs.kinds.action.written import StatementsOfBatch, say_what_is_written
from tapestry.runs.model.model import Model
from tapestry.runs.model.triggers import triggers_of
from tapestry.runs.protocol import crash
from tapestry.runs.protocol.outcome import Outcome
from tapestry.runs.protocol.plan import OwnRun, Told
from tapestry.runs.tables.batches import (
    BORN,
    CLAIMED,
    DEAD,
    DONE,
    FAILED,
    ActionBatch,
    ActionLife,
    BatchesOfAction,
    BatchEvent,
    batches_table,
)
from tapestry.runs.tables.firings import firings_table
from tapestry.words import counted

logger = logging.getLogger(__name__)
LONGEST_BACKOFF = timedelta(minutes=10)
APP_ID = "spark.databricks.delta.write.txnAppId"
APP_VERSION = "spark.databricks.delta.write.txnVersion"
METADATA = "spark.databricks.delta.commitInfo.userMetadata"


@dataclass(frozen=True)
class Performed(Outcome):
    """A run of an action has executed these."""

    batches: int = 0
    firings: int = 0
    failed: int = 0

    def _what(self) -> str:
        if self.action == "nothing":
            return "nothing due"
        done = f"{counted(self.batches, 'batch', 'batches')} of {counted(self.firings, 'firing')}"
        return f"{done}, {self.failed} failed" if self.failed else done


@dataclass(frozen=True)
class Perform(OwnRun):
    """The next run of an action, which carries itself out.

    anew
        A life of its own begins: what waits is dropped.
    """

    model: Model
    anew: bool = False
    told: Told = field(default_factory=Told)

    @property
    def main(self) -> str:
        """The author's text."""
        return self.model.sql

    def carry_out(self, session: Session, invocation: Invocation) -> Outcome:
        """Execute the batches that are due.

        Raises ActionFailed where one of them is dead now, after all others have been executed.
        """
        return BatchRound(session, self.model, invocation).run(self.anew)


@dataclass(frozen=True)
class BatchRound:
    """One run of one action."""

    session: Session
    model: Model
    invocation: Invocation

    @property
    def config(self) -> ActionConfig:
        """The keys that its author has written."""
        return config_of(self.model.config.own)

    @property
    def batches(self) -> BatchesOfAction:
        """The table of its batches."""
        table = batches_table(self.invocation.state_table)
        return BatchesOfAction(self.session, table, self.model.relation)

    def run(self, anew: bool) -> Outcome:
        """The same as ``Perform.carry_out``."""
        parts = parts_of(self.model)
        named = triggers_of(self.model)
        written = targets_of(self.model)
        rules = read_rules(self.session, self.model, self.invocation, named, written)
        if rules is None:
            return Performed("nothing", None, None)
        say_what_is_written(self.session, self.model, self.invocation, rules, parts, written)
        for rule in rules if self.config.unique_on else ():
            split_by(self.model, rule, self.config.unique_on)
        life = self.life(rules, anew)
        opened = self.batches.unfinished(life)
        if any(rule.baseline >= 0 for rule in rules):
            waiting = self.waiting(life, unheld_rules(rules))
            held = Baselines(self.session, self.model, self.batches, life, rules, waiting)
            opened = held.settle(opened)
        again = self.again(opened)
        batches = again + self.claimed(life, rules, opened, len(again))
        if not batches:
            return Performed("nothing", None, None)
        crash.point("batches_claimed")
        ended = [self.execute(life, rules, parts, one) for one in batches]
        crash.point("batches_executed")
        self.batches.note_events(life, ended)
        crash.point("batches_noted")
        return self.told(ended)

    def life(self, rules: Sequence[RuleRead], anew: bool) -> ActionLife:
        """The life of the action; its first one begins with the first firings of new rules.

        Of a rule that has run more than once before, the firings so far are none of it.
        """
        last = self.batches.life()
        if last is not None and not anew:
            return last
        begin = {rule.relation: (rule.generation, self.begins(rule, last)) for rule in rules}
        number = 1 if last is None else last.number + 1
        life = ActionLife(self.model.relation, uuid4().hex, number, begin)
        begun = self.batches.begin_life(life, now_utc())
        self.session.run(
            f"CREATE OR REPLACE VIEW {relation_name(self.model.relation)} AS SELECT * FROM"
            f" {relation_name(self.batches.table.name)}"
            f" WHERE action = {string(self.model.relation)} AND event <> {string(BORN)}"
        )
        return begun

    def begins(self, rule: RuleRead, last: ActionLife | None) -> int:
        """The firing of a rule up to which they are none of a life that begins now."""
        if last is None and (rule.n <= 1 or rule.baseline >= 0):
            return -1  # what the tables that it writes do not hold yet is of this life
        waiting = self.waiting(ActionLife("", "", 0, {}), [rule])
        return waiting.newest().get(rule.relation, -1)

    def waiting(self, life: ActionLife, rules: Sequence[RuleRead]) -> WaitingFirings:
        """The firings of rules that wait in a life."""
        return WaitingFirings(
            self.session, self.model, self.config, life, rules,
            firings_table(self.invocation.state_table).name, self.batches.table.name,
        )  # fmt: skip

    def again(self, opened: Sequence[ActionBatch]) -> list[ActionBatch]:
        """Batches that were claimed or have failed before, and are to be executed again now."""
        now, t, found = now_utc(), self.invocation.clock.instant, []
        for one in opened:
            last = one.event
            if last.what == CLAIMED and (last.lease_until is None or last.lease_until > now):
                continue
            if last.what == DEAD or (last.what == FAILED and self.waits_until(last) > t):
                continue
            attempt = last.attempt + (last.what == FAILED)
            event = self.leased(attempt, now, uuid4().hex)
            found.append(replace(one, event=event, again=True))
        return found

    def waits_until(self, failed: BatchEvent) -> datetime:
        """When a batch that has failed is executed again."""
        assert failed.at is not None
        wait: timedelta = self.config.backoff * 2 ** (failed.attempt - 1)
        return failed.at + min(wait, LONGEST_BACKOFF)

    def leased(self, attempt: int, now: datetime, claim_id: str) -> BatchEvent:
        """A batch is in the hands of this run."""
        lease_until = now + self.config.timeout
        return BatchEvent(CLAIMED, attempt, claim_id, lease_until, now)

    def claimed(
        self,
        life: ActionLife,
        rules: Sequence[RuleRead],
        opened: Sequence[ActionBatch],
        taken: int,
    ) -> list[ActionBatch]:
        """The batches that are due, claimed by this run; none where another process was faster.

        ``opened`` are those that are not over, of which ``taken`` are executed in this run already.
        """
        waiting, held = self.waiting(life, rules), self.held(opened)
        most = self.config.max_batches - taken
        due = waiting.due(self.invocation.clock.instant, most + len(held)) if most > 0 else []
        due = [one for one in due if one.key is None or one.key not in held][:most]
        if not due:
            return []
        m, event = self.batches.last_round(life) + 1, self.leased(1, now_utc(), uuid4().hex)
        round_ = [replace(one, m=m, i=i, event=event) for i, one in enumerate(due, start=1)]
        return round_ if self.batches.claim_round(life, round_) else []

    def held(self, opened: Sequence[ActionBatch]) -> set[str]:
        """Keys of batches that are not over: those behind them wait."""
        blocks = self.config.on_dead == "block"
        waits = (one.key for one in opened if one.event.what != DEAD or blocks)
        return {key for key in waits if key is not None}

    def execute(
        self,
        life: ActionLife,
        rules: Sequence[RuleRead],
        parts: Sequence[ActionStatement],
        batch: ActionBatch,
    ) -> ActionBatch:
        """Execute a batch: what has become of it."""
        began = monotonic()
        try:
            self.refuse_gone(rules, batch)
            self.statements(life, rules, parts, batch)
        except Exception as error:
            last = batch.event.attempt >= self.config.attempts
            said = str(error).strip()
            logger.warning("%s: batch %s failed: %s", self.model.name, batch.place, said)
            event = DEAD if last else FAILED
            return batch.became(event, now_utc(), monotonic() - began, said)
        return batch.became(DONE, now_utc(), monotonic() - began)

    def statements(
        self,
        life: ActionLife,
        rules: Sequence[RuleRead],
        parts: Sequence[ActionStatement],
        batch: ActionBatch,
    ) -> None:
        """Execute the statements of a batch, each in a session of its own settings."""
        rows = {name: bound_rows(batch, rules, self.config, name) for name in bound_names(rules)}
        name = f"{life.id}:{batch.m}:{batch.i}"
        said = said_of(batch, self.config, str(uuid5(NAMESPACE_URL, f"{life.action}:{name}")))
        if not parts:
            settings, run_id = settings_of(life, batch, 1), run_id_of(life, batch)
            call = FunctionCall(self.model, rules, batch, said, settings, run_id)
            call.execute(partial(apart, self.session, settings_of(life, batch, 0)))
        again = StatementsOfBatch(self.session, self.model, self.invocation, rules, batch)
        for number, part in enumerate(parts, start=1):
            with apart(self.session, settings_of(life, batch, number)) as own:
                own.run(again.executed(part, rows, said))

    def refuse_gone(self, rules: Sequence[RuleRead], batch: ActionBatch) -> None:
        """Raise where the rows of a batch went with the former table of a rule."""
        there = {rule.relation: rule.generation for rule in rules}
        for relation, cut in batch.cut.items():
            if there.get(relation) != cut.generation:
                raise ActionFailed(
                    f"{relation} was built again: the rows of this batch went with its table",
                    hint="nothing is left to be done: drop the batch",
                )

    def told(self, ended: Sequence[ActionBatch]) -> Outcome:
        """Tell what the run has done; raises ActionFailed where a batch is dead now."""
        dead = [one for one in ended if one.event.what == DEAD]
        if dead:
            raise ActionFailed(
                f"{counted(len(dead), 'batch', 'batches')} of {self.model.name} failed"
                f" {self.config.attempts} times: {dead[0].event.error}",
                where=self.model.file,
                hint="correct it, then tapestry rules --replay"
                f" {self.model.name}/{dead[0].place}; or --drop it",
            )
        failed = sum(one.event.what == FAILED for one in ended)
        done = [one for one in ended if one.event.what == DONE]
        firings = sum(one.firings for one in done)
        rows = sum(one.rows for one in done)
        return Performed(
            "perform", None, None, rows=rows, batches=len(done), firings=firings, failed=failed
        )


def run_id_of(life: ActionLife, batch: ActionBatch) -> str:
    """Name a batch among those of all lives of its action."""
    return f"{life.id}/{batch.place}"


def settings_of(life: ActionLife, batch: ActionBatch, number: int) -> dict[str, str]:
    """Give the settings under which a statement of a batch lands once, and says whose it is.

    0 is what a function in Python does besides: it says so, and lands whenever it is done.
    """
    run_id = run_id_of(life, batch)
    said: dict[str, object] = {
        "action": life.action, "batch": run_id, "depth": batch.depth + 1,
    }  # fmt: skip
    if not number:
        return {METADATA: json.dumps({"tapestry": said})}
    return {
        APP_ID: f"tapestry.{life.action}:{life.id}:{batch.m}:{batch.i}:{number}",
        APP_VERSION: "1",
        METADATA: json.dumps({"tapestry": {**said, "run_id": run_id}}),
    }


def apart(session: Session, settings: Mapping[str, str]) -> AbstractContextManager[Session]:
    """A session of its own with these settings.

    Raises ConfigurationError where the engine has none: the settings of a shared one would hit the
    statements of others.
    """
    if session.can.apart is None:
        raise ConfigurationError(
            "an action needs a session of its own, which this connection cannot open",
            hint="use method: session, or a server with a session for each connection",
        )
    return session.can.apart(settings)
