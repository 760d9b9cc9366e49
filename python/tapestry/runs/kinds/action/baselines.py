"""Leaves firings that derived tables already hold out of the batches of actions that write these.

A derived table is built from versions of its sources, its *baseline*: a firing of a commit up to
there is absorbed. It goes into no batch; a row of the table of batches says so, and a failed batch
whose firings are all absorbed is over.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tapestry.errors import BaselineGap
from tapestry.instants import from_micros, now_utc
from tapestry.quoting import relation_name, string
from tapestry.runs.kinds.action.rules_read import RuleRead
from tapestry.runs.kinds.action.waiting import WaitingFirings
from tapestry.runs.tables.action_batch import (
    ABSORBED,
    BORN,
    DEAD,
    FAILED,
    ActionBatch,
    BatchEvent,
    Cut,
)
from tapestry.runs.tables.batches import BatchesOfAction


@dataclass(frozen=True)
class Baselines:
    """The rules of an action that writes derived tables, and the firings that wait in its life.

    waiting
        The same rules as if no table held any of their firings.
    """

    batches: BatchesOfAction
    rules: Sequence[RuleRead]
    waiting: WaitingFirings

    def settle(self, opened: Sequence[ActionBatch]) -> list[ActionBatch]:
        """Note absorbed firings; return the batches of ``opened`` that still have something to do.

        Raises BaselineGap where firings wait that one of the tables holds and another does not,
        and where tables hold firings of a rule that was built again.
        """
        held, model = [rule for rule in self.rules if rule.baseline >= 0], self.waiting.model
        for rule in held:
            self.refuse_other_generation(rule)
            if rule.least < rule.baseline and self.absorbed(rule, rule.least):
                raise BaselineGap(
                    f"{model.name} writes tables that were built from different versions of"
                    f" {rule.table}, {rule.least} and {rule.baseline}, and firings in between wait",
                    where=model.file,
                    hint="build these tables anew in one run: --full-refresh",
                )
        self.note_absorbed(held)
        over = [one for one in opened if self.is_held(one, held)] if opened else []
        now = now_utc()
        self.batches.note_events(self.waiting.life, [one.became(ABSORBED, now, 0) for one in over])
        return [one for one in opened if one not in over]

    def absorbed(self, rule: RuleRead, after: int) -> tuple[int, int, int, int] | None:
        """Return the waiting firings of a rule above a version and up to its baseline; None: none.

        Given are their number, the number of their rows, the last one, and the time of the first in
        microseconds.
        """
        last, pending = self.noted(rule), self.waiting.pending(replace(rule, baseline=-1))
        counts = rule.firings
        held = (
            f"SELECT firing, commit_time FROM {relation_name(self.waiting.firings)} WHERE {counts}"
            f" AND commit_version > {after:d} AND commit_version <= {rule.baseline:d}"
            f" AND firing > {last:d}"
        )
        ((firings, rows, until, first),) = self.waiting.session.rows(
            f"{self.waiting.done()}SELECT count(DISTINCT p.firing), coalesce(sum(p.rows), 0),"
            f" max(p.firing), unix_micros(min(h.commit_time)) FROM ({pending}) AS p"
            f" JOIN ({held}) AS h ON h.firing = p.firing"
        )
        return (int(firings), int(rows), int(until), int(first)) if firings else None

    def noted(self, rule: RuleRead) -> int:
        """Return the last firing of a rule that was noted as absorbed; -1: none was."""
        found = self.batches.read_rows(
            f"max(CAST(from_json(cut, 'map<string,array<string>>')[{string(rule.relation)}][3]"
            " AS BIGINT))",
            f"life = {string(self.waiting.life.id)} AND event = {string(ABSORBED)} AND i = 0"
            f" AND from_json(cut, 'map<string,array<string>>')[{string(rule.relation)}][0]"
            f" = {string(rule.generation)}",
        )
        return -1 if not found or found[0][0] is None else int(found[0][0])

    def note_absorbed(self, held: Sequence[RuleRead]) -> None:
        """Note, in one row for all rules, up to which firings the tables hold them."""
        cut: dict[str, Cut] = {}
        firings, rows, times = 0, 0, []
        for rule in held:
            found = self.absorbed(rule, -1)
            if found is not None:
                cut[rule.relation] = rule.cut(rule.begin_in(self.waiting.life), found[2])
                firings, rows = firings + found[0], rows + found[1]
                times.append(from_micros(found[3]))
        if cut:
            event = BatchEvent(ABSORBED, 1, "", None, now_utc())
            m = self.batches.last_round(self.waiting.life)
            row = ActionBatch(m, 0, None, cut, firings, rows, min(times), min(times), event=event)
            self.batches.note_events(self.waiting.life, [row])

    def is_held(self, batch: ActionBatch, held: Sequence[RuleRead]) -> bool:
        """Return whether a batch has failed whose firings the tables all hold."""
        if batch.event.what not in (FAILED, DEAD):
            return False
        last = {rule.relation: self.last_held(rule) for rule in held}
        return all(cut.until <= last.get(name, -1) for name, cut in batch.cut.items())

    def last_held(self, rule: RuleRead) -> int:
        """Return the last firing of a rule that the tables hold."""
        counts = rule.firings
        ((last,),) = self.waiting.session.rows(
            f"SELECT max(firing) FROM {relation_name(self.waiting.firings)} WHERE {counts}"
            f" AND commit_version <= {rule.baseline:d}"
        )
        return -1 if last is None else int(last)

    def refuse_other_generation(self, rule: RuleRead) -> None:
        """Raise BaselineGap where a table holds an earlier rule table's firings above its baseline.

        The rule looks at these commits once more, or never: both are wrong.
        """
        generation, _ = self.waiting.life.begin.get(rule.relation, (rule.generation, -1))
        if generation == rule.generation:
            return
        name = string(rule.relation)
        taken = (
            f"SELECT c[0] AS generation, CAST(c[2] AS BIGINT) AS after, CAST(c[3] AS BIGINT) AS"
            f" until FROM (SELECT from_json(cut, 'map<string,array<string>>')[{name}] AS c FROM"
            f" {relation_name(self.batches.table.name)} WHERE action ="
            f" {string(self.batches.action)} AND event NOT IN ({string(BORN)}, {string(ABSORBED)}))"
        )
        found = self.waiting.session.rows(
            f"SELECT 1 FROM {relation_name(self.waiting.firings)} AS f JOIN ({taken}) AS t"
            f" ON f.generation = t.generation AND f.firing > t.after AND f.firing <= t.until"
            f" WHERE f.rule = {name} AND t.generation <> {string(rule.generation)}"
            f" AND f.commit_version > {rule.least:d} LIMIT 1"
        )
        if found:
            model = self.waiting.model
            raise BaselineGap(
                f"{rule.relation} was built again, and {model.name} has done what it fired"
                " before: what it fires now would count twice, or some of it never",
                where=model.file,
                hint="build the tables that the action writes anew, too: --full-refresh",
            )


def unheld_rules(rules: Sequence[RuleRead]) -> list[RuleRead]:
    """Return rules as if no table held any of their firings."""
    return [replace(rule, baseline=-1) for rule in rules]
