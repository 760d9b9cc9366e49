"""The firings that wait for an action, as the batches that they make now (rules, section 2).

    without unique    one batch a firing
    unique            one batch of all firings
    unique_on         one batch for each value of the columns, over all bound rows that have it

A batch is due when the oldest of its firings has waited for as long as its rule says.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from tapestry.instants import from_micros
from tapestry.quoting import relation_name, string, timestamp
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.action.config import ActionConfig
from tapestry.runs.kinds.action.rules_read import RuleRead, key_of, split_by
from tapestry.runs.model.model import Model
from tapestry.runs.tables.batches import BORN, ActionBatch, ActionLife, Cut
from tapestry.runs.tables.bound_rows import FIRING
from tapestry.runs.tables.firings import MARKS

ALL = "[]"
"""The key of the one batch of `unique`."""


@dataclass(frozen=True)
class WaitingFirings:
    """Finds the batches that are due.

    firings, batches
        The names of the tables.
    """

    session: Session
    model: Model
    config: ActionConfig
    life: ActionLife
    rules: Sequence[RuleRead]
    firings: str
    batches: str

    def due(self, t: datetime, most: int) -> list[ActionBatch]:
        """The batches that are due at t, in their order; m, i and the claim are open yet."""
        newest = self.newest()
        if not newest:
            return []
        single = self.single
        grouped = "key, rule, firing" if single else "key"
        shown = "min(rule) AS rule, min(firing) AS number, min(commit_version) AS version"
        parts = [self.pending(rule) for rule in self.rules if rule.relation in newest]
        rows = self.session.rows(
            f"{self.done()}SELECT * FROM (SELECT key, {shown},"
            f" unix_micros(min_by(release, struct(commit_time, release))) AS release,"
            f" unix_micros(min(commit_time)) AS first,"
            f" count(DISTINCT rule, firing),"
            f" coalesce(sum(rows), 0), max(depth),"
            f" to_json(map_from_entries(collect_set(struct(rule, since))))"
            f" FROM ({' UNION ALL '.join(parts)}) GROUP BY {grouped}"
            f" HAVING min_by(release, struct(commit_time, release)) <= {timestamp(t)})"
            f" ORDER BY release, first, version, number, key LIMIT {most:d}"
        )
        return [self.batch(row, newest) for row in rows]

    @property
    def single(self) -> bool:
        """Is each firing a batch of its own?"""
        return not self.config.unique and not self.config.unique_on

    def newest(self) -> dict[str, int]:
        """By rule: its newest firing, where there is one that this life has to do with."""
        parts = []
        for rule in self.rules:
            counts = MARKS.counts(rule.generation, rule.n, rule.failed, own=True)
            parts.append(
                f"SELECT {string(rule.relation)}, max(firing) FROM"
                f" {relation_name(self.firings)} WHERE {counts}"
                f" AND firing > {self.begin(rule):d}{rule.unheld('commit_version')}"
            )
        found = self.session.rows(" UNION ALL ".join(parts))
        return {str(rule): int(version) for rule, version in found if version is not None}

    def begin(self, rule: RuleRead) -> int:
        """The firing of a rule after which they are of this life."""
        generation, number = self.life.begin.get(rule.relation, ("", -1))
        return number if generation == rule.generation else -1

    def done(self) -> str:
        """WITH: of each key and rule, the last firing that a batch has taken.

        Where each firing is a batch they are all of those that were taken: one that has come late
        is due before others that have come before it.
        """
        last = "SELECT key, rule, generation, max(until) AS until FROM _taken GROUP BY ALL"
        if self.single:
            last = "SELECT DISTINCT rule, generation, until FROM _taken"
        return (
            f"WITH _taken AS (SELECT key, rule, element_at(cut, 1) AS generation,"
            f" CAST(element_at(cut, 4) AS BIGINT) AS until FROM (SELECT key,"
            f" explode(from_json(cut, 'map<string,array<string>>')) AS (rule, cut)"
            f" FROM {relation_name(self.batches)} WHERE action = {string(self.model.relation)}"
            f" AND life = {string(self.life.id)} AND event <> {string(BORN)})),"
            f" _last AS ({last})\n"
        )

    def pending(self, rule: RuleRead) -> str:
        """A SELECT of the firings of a rule that wait, by key: a row for each."""
        counts = MARKS.counts(rule.generation, rule.n, rule.failed, own=True)
        begin, name = self.begin(rule), string(rule.relation)
        fired = (
            f"(SELECT firing, commit_version, commit_time, depth, rows"
            f" FROM {relation_name(self.firings)}"
            f" WHERE {counts} AND firing > {begin:d}{rule.unheld('commit_version')})"
        )
        key, rows, joined = "CAST(NULL AS STRING)", "f.rows", ""
        if self.config.unique_on:
            key, rows = "b.key", "b.rows"
            joined = f" JOIN {self.by_key(rule, begin)} AS b ON b.firing = f.firing"
        elif self.config.unique:
            key = string(ALL)
        waits = rule.after // timedelta(microseconds=1)
        since = f"greatest(coalesce(d.until, -1L), {begin:d}L)"
        own, waiting = f"d.key <=> {key}", f"f.firing > {since}"
        if self.single:
            own, waiting = "d.until = f.firing", "d.until IS NULL"
        return (
            f"SELECT {key} AS key, {name} AS rule, f.firing, f.commit_version, f.commit_time,"
            f" f.depth, {rows} AS rows, {since} AS since,"
            f" timestamp_micros(unix_micros(f.commit_time) + {waits:d}) AS release"
            f" FROM {fired} AS f{joined} LEFT JOIN _last AS d ON d.rule = {name}"
            f" AND d.generation = {string(rule.generation)} AND {own} WHERE {waiting}"
        )

    def by_key(self, rule: RuleRead, begin: int) -> str:
        """A relation of how many bound rows of a firing have each key."""
        cut = rule.cut(begin, 2**62)
        parts = []
        for table in split_by(self.model, rule, self.config.unique_on):
            key = key_of(table, self.config.unique_on)
            parts.append(f"SELECT {key} AS key, {FIRING} AS firing FROM {table.within(cut)}")
        together = " UNION ALL ".join(parts)
        return f"(SELECT key, firing, count(*) AS rows FROM ({together}) GROUP BY key, firing)"

    def batch(self, row: tuple[object, ...], newest: dict[str, int]) -> ActionBatch:
        """A batch from a row of the query."""
        key, rule_of, number, _, release, first, firings, rows, depth, since = row
        cut: dict[str, Cut] = {}
        for rule in self.rules:
            until = newest.get(rule.relation)
            after = json.loads(str(since)).get(rule.relation)
            if until is None or after is None:
                continue
            if self.single:
                if rule.relation != rule_of:
                    continue
                after, until = int(str(number)) - 1, int(str(number))
            cut[rule.relation] = rule.cut(int(after), until)
        return ActionBatch(
            0, 0, None if key is None else str(key), cut, int(str(firings)), int(str(rows)),
            from_micros(int(str(first))), from_micros(int(str(release))), int(str(depth)),
        )  # fmt: skip
