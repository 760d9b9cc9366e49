"""The firings that wait for an action, as the batches that they make now (rules, section 2).

    without unique    one batch a firing
    unique            one batch of all firings
    unique_on         one batch for each value of the columns, over all bound rows that have it

    at_start          all waiting firings go into the batch of their key
    by_clock          a batch closes at its release, what is committed then or later opens the next

A batch is due when the oldest of its firings has waited for as long as its rule says. They are
found by one query, of as many jobs whatever the number of firings, keys and batches.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from tapestry.instants import from_micros
from tapestry.quoting import relation_name, string, timestamp
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.action.by_clock import closed_by_clock
from tapestry.runs.kinds.action.config import BY_CLOCK, ActionConfig
from tapestry.runs.kinds.action.rules_read import RuleRead, key_of, key_values, split_by
from tapestry.runs.model.model import Model
from tapestry.runs.sources.pins import Pinned
from tapestry.runs.sources.transactions import times_of
from tapestry.runs.tables.action_batch import BORN, ActionBatch, ActionLife
from tapestry.runs.tables.batches import batches_table
from tapestry.runs.tables.bound_rows import FIRING
from tapestry.runs.tables.firings import firings_table

ALL = "[]"
"""The key of the one batch of `unique`."""


@dataclass(frozen=True)
class WaitingFirings:
    """Finds the batches that are due."""

    session: Session
    model: Model
    config: ActionConfig
    life: ActionLife
    rules: Sequence[RuleRead]
    invocation: Invocation

    @property
    def firings(self) -> str:
        """The name of the table of firings."""
        return firings_table(self.invocation.state_table).name

    def closed_by(self) -> datetime:
        """Return the instant by which a batch has to be released to be due."""
        t = self.invocation.clock.instant
        if self.config.batching != BY_CLOCK:
            return t
        return _looked_until(self.session, self.invocation, self.rules, t)

    def due(self, t: datetime, most: int, held: Collection[str] = ()) -> list[ActionBatch]:
        """Return the batches that are due at t, in their order; m, i and the claim are set later.

        ``held`` are keys of which no batch is due.
        """
        released = f"release <= {timestamp(t)}"
        if held:
            released += f" AND (key IS NULL OR key NOT IN ({', '.join(map(string, held))}))"
        rows = self.session.rows(
            f"{self.done()}SELECT key, unix_micros(release), unix_micros(place.made), firings,"
            f" rows, depth, to_json(cut) FROM ({self.formed()}) WHERE {released}"
            f" ORDER BY release, place, key_order LIMIT {most:d}"
        )
        return [self.batch(row) for row in rows]

    @property
    def single(self) -> bool:
        """Whether each firing is a batch of its own."""
        return not self.config.unique and not self.config.unique_on

    def formed(self) -> str:
        """Return a SELECT of all batches as they are now.

        Its columns are key, its values, place of the first firing, release, firings, rows, depth,
        cut.
        """
        pending = " UNION ALL ".join(map(self.pending, self.rules))
        if self.config.batching == BY_CLOCK and not self.single:
            return closed_by_clock(pending, [rule.relation for rule in self.rules])
        ends = ", ".join(f"{string(one.relation)}, ({self.newest_of(one)})" for one in self.rules)
        until = "firing" if self.single else f"element_at(map({ends}), rule)"
        return (
            f"SELECT key, min(key_order) AS key_order, min(place) AS place,"
            f" min_by(release, struct(place.made, place.relation, place.firing, release))"
            f" AS release,"
            f" count(*) AS firings, coalesce(sum(rows), 0) AS rows, max(depth) AS depth,"
            f" map_from_entries(collect_set(struct(rule, array(since, {until})))) AS cut"
            f" FROM ({pending}) GROUP BY key{', rule, firing' if self.single else ''}"
        )

    def newest(self) -> dict[str, int]:
        """Return, by rule, its newest firing, where there is one that belongs to this life."""
        parts = (f"SELECT {string(rule.relation)}, ({self.newest_of(rule)})" for rule in self.rules)
        found = self.session.rows(" UNION ALL ".join(parts))
        return {str(rule): int(version) for rule, version in found if version is not None}

    def newest_of(self, rule: RuleRead) -> str:
        """A SELECT of the newest firing of a rule that this life has to do with; NULL: none."""
        counts = rule.firings
        return (
            f"SELECT max(firing) FROM {relation_name(self.firings)} WHERE {counts}"
            f" AND firing > {rule.begin_in(self.life):d}{rule.unheld('commit_version')}"
        )

    def done(self) -> str:
        """Return a WITH of the last firing that a batch has taken, for each key and rule.

        Where each firing is a batch, it has all firings that were taken: a late one is due before
        others that have come before it.
        """
        last = "SELECT key, rule, generation, max(until) AS until FROM _taken GROUP BY ALL"
        if self.single:
            last = "SELECT DISTINCT rule, generation, until FROM _taken"
        return (
            f"WITH _taken AS (SELECT key, rule, element_at(cut, 1) AS generation,"
            f" CAST(element_at(cut, 4) AS BIGINT) AS until FROM (SELECT key,"
            f" explode(from_json(cut, 'map<string,array<string>>')) AS (rule, cut)"
            f" FROM {relation_name(batches_table(self.invocation.state_table).name)}"
            f" WHERE action = {string(self.model.relation)}"
            f" AND life = {string(self.life.id)} AND event <> {string(BORN)})),"
            f" _last AS ({last})\n"
        )

    def pending(self, rule: RuleRead) -> str:
        """Return a SELECT of the firings of a rule that wait: a row for each key."""
        counts = rule.firings
        begin, name = rule.begin_in(self.life), string(rule.relation)
        fired = (
            f"(SELECT firing, commit_version, commit_time, depth, rows"
            f" FROM {relation_name(self.firings)}"
            f" WHERE {counts} AND firing > {begin:d}{rule.unheld('commit_version')})"
        )
        key, order, rows, joined = "CAST(NULL AS STRING)", "0", "f.rows", ""
        if self.config.unique_on:
            key, order, rows = "b.key", "b.key_order", "b.rows"
            joined = f" JOIN {self.by_key(rule, begin)} AS b ON b.firing = f.firing"
        elif self.config.unique:
            key = string(ALL)
        waits = rule.after // timedelta(microseconds=1)
        since = f"greatest(coalesce(d.until, -1L), {begin:d}L)"
        own, waiting = f"d.key <=> {key}", f"f.firing > {since}"
        if self.single:
            own, waiting, since = "d.until = f.firing", "d.until IS NULL", "f.firing - 1"
        return (
            f"SELECT {key} AS key, {order} AS key_order, {name} AS rule, f.firing, f.depth,"
            f" f.commit_version, f.commit_time,"
            f" named_struct('made', f.commit_time, 'relation', {string(rule.table)},"
            f" 'firing', f.firing, 'rule', {name}) AS place,"
            f" {rows} AS rows, {since} AS since,"
            f" timestamp_micros(unix_micros(f.commit_time) + {waits:d}) AS release"
            f" FROM {fired} AS f{joined} LEFT JOIN _last AS d ON d.rule = {name}"
            f" AND d.generation = {string(rule.generation)} AND {own} WHERE {waiting}"
        )

    def by_key(self, rule: RuleRead, begin: int) -> str:
        """Return a relation of how many bound rows of a firing have each key.

        Rows that go whole to each batch of a firing are counted in each.
        """
        cut = rule.cut(begin, 2**62)
        split = split_by(self.model, rule, self.config.unique_on)
        parts, whole = [], []
        for table in rule.bound.values():
            if table not in split:
                whole.append(f"SELECT {FIRING} AS firing FROM {table.within(cut)}")
                continue
            key = key_of(table, self.config.unique_on)
            order = key_values(table, split, self.config.unique_on)
            parts.append(
                f"SELECT {key} AS key, {order} AS key_order, {FIRING} AS firing"
                f" FROM {table.within(cut)}"
            )
        together = " UNION ALL ".join(parts)
        counted = (
            f"(SELECT key, min(key_order) AS key_order, firing, count(*) AS rows"
            f" FROM ({together}) GROUP BY key, firing)"
        )
        if not whole:
            return counted
        return (
            f"(SELECT key, key_order, firing, rows + coalesce(more, 0) AS rows FROM {counted}"
            f" LEFT JOIN (SELECT firing, count(*) AS more FROM ({' UNION ALL '.join(whole)})"
            f" GROUP BY firing) USING (firing))"
        )

    def batch(self, row: tuple[object, ...]) -> ActionBatch:
        """Return a batch from a row of the query."""
        key, release, first, firings, rows, depth, cut = row
        read, of = json.loads(str(cut)), {rule.relation: rule for rule in self.rules}
        cuts = {name: of[name].cut(int(read[name][0]), int(read[name][1])) for name in sorted(read)}
        return ActionBatch(
            0, 0, None if key is None else str(key), cuts, int(str(firings)), int(str(rows)),
            from_micros(int(str(first))), from_micros(int(str(release))), int(str(depth)),
        )  # fmt: skip


def _looked_until(
    session: Session, invocation: Invocation, rules: Iterable[RuleRead], t: datetime
) -> datetime:
    """Return the time of the first commit that a rule has not looked at, t at most."""
    for rule in rules:
        found = invocation.pins.of(session, rule.table)
        if not isinstance(found, Pinned) or found.pin.version <= rule.position:
            continue
        times = times_of(session, found.table, found.pin.version)
        t = min([t, *(time for version, time in times.items() if version > rule.position)])
    return t
