"""The query that forms batches, over firings that were written down, against lists of them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from time import monotonic
from typing import Any

import pytest
from tests.rules.definitions import Action, Commit, Rule, inserted
from tests.rules.firing import Bound, Firing
from tests.rules.queues import Batch, Queue
from tests.seeds import seeds
from tests.spark.rule_world import Rules

from tapestry.quoting import timestamp
from tapestry.runs.context.clock import Clock
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.own_tables import create_own
from tapestry.runs.kinds.action.config import ActionConfig
from tapestry.runs.kinds.action.rules_read import RuleRead
from tapestry.runs.kinds.action.waiting import WaitingFirings
from tapestry.runs.protocol.standing_rules import BoundTable
from tapestry.runs.tables.action_batch import ActionLife
from tapestry.runs.tables.batches import batches_table
from tapestry.runs.tables.firings import firings_table

pytestmark = pytest.mark.more
BEGIN = datetime(2026, 1, 1)
EVER = datetime(9999, 1, 1, tzinfo=timezone.utc)


class Waiting(Rules):
    """Rules whose firings a test makes up."""

    def made(self, firings: Sequence[Firing]) -> None:
        """Write firings and their rows."""
        state = f"{self.schema}.tapestry_state"
        for own in (firings_table(state), batches_table(state)):
            create_own(self.session, own.name, own.columns, own.comment)
        for name in ("r", "r2"):
            self.do(
                f"create table {{s}}.{name} (k int, _n bigint, _firing bigint, _commit_version"
                " bigint, _commit_time timestamp, _row bigint) using delta"
            )
        rows = [
            f"('{self.schema}.{one.rule.name}', '{one.rule.name}', 1L, {v}L, {v}L,"
            f" {self.time(one)}, 0L, {len(one.bound['matches'].rows)}L)"
            for one in firings
            for v in (one.commit.version,)
        ]
        self.do(f"insert into {{s}}.tapestry_firings values {', '.join(rows)}")
        for name in ("r", "r2"):
            bound = [
                f"({'null' if k is None else k}, 1L, {v}L, {v}L, {self.time(one)}, 1L)"
                for one in firings
                if one.rule.name == name
                for v in (one.commit.version,)
                for (k,) in one.bound["matches"].rows
            ]
            if bound:
                self.do(f"insert into {{s}}.{name} values {', '.join(bound)}")

    def time(self, firing: Firing) -> str:
        """The time of a commit as SQL."""
        return timestamp(firing.commit.time.replace(tzinfo=timezone.utc))

    def formed(self, rules: Sequence[Rule], **config: Any) -> list[tuple[Any, ...]]:
        """The batches as the product forms them."""
        read = [
            RuleRead(
                f"{self.schema}.{one.name}", one.name, 1, (), one.on,
                {"matches": BoundTable("matches", f"{self.schema}.{one.name}", (("k", "int"),),
                                       beside=False)}, one.after,
            )
            for one in rules
        ]  # fmt: skip
        model = self.action("a", "select 1", "r", **config)
        life, state = ActionLife("a", "life", 1, {}), f"{self.schema}.tapestry_state"
        invocation = Invocation("test", Clock(EVER, True), state)
        own = model.config.own
        assert isinstance(own, ActionConfig)
        waiting = WaitingFirings(self.session, model, own, life, read, invocation)
        return [
            (one.key, one.release.replace(tzinfo=None), one.first_commit_time.replace(tzinfo=None),
             one.firings, one.rows,
             sorted((rule[-2:].strip("."), cut.until) for rule, cut in one.cut.items()))
            for one in waiting.due(EVER, 1_000_000)
        ]  # fmt: skip


def listed(batches: Sequence[Batch]) -> list[tuple[Any, ...]]:
    """The same of the reference."""
    found = []
    for one in sorted(batches, key=lambda one: one.order):
        key = None
        if one.key is not None:
            values = ",".join("null" if v is None else f'"{v}"' for v in one.key)
            key = f"[{values}]"
        until: dict[str, int] = {}
        for part in one.parts:
            name = part.firing.rule.name
            until[name] = max(until.get(name, 0), part.firing.commit.version)
        first = min(part.firing.place for part in one.parts)[0]
        rows = sum(bag.total() for bag in one.rows.values())
        found.append((key, one.release, first, len(one.firings), rows, sorted(until.items())))
    return found


@pytest.mark.parametrize("number", seeds(4))
def test_batches_are_those_of_the_lists(session: Any, schema: str, number: int) -> None:
    rng = random.Random(number)
    same = rng.random() < 0.5
    rules = (
        Rule("r", "", (), after=timedelta(seconds=rng.choice((0, 2, 5)))),
        Rule("r2", "", (), after=timedelta(seconds=rng.choice((0, 2, 9))), on="t" if same else "u"),
    )
    firings = []
    for table in ("t", "u"):
        time = BEGIN
        for version in range(1, 60):
            time += timedelta(seconds=rng.choice((0, 0, 1, 1, 3, 8)))
            commit = Commit(table, version, time, inserted((1,)))
            for rule in rules:
                if rule.on == table and rng.random() < 0.8:
                    keys = rng.choices((None, 1, 2, 10), k=rng.randint(0, 3))
                    bound = Bound(("k",), tuple((key,) for key in keys))
                    firings.append(Firing(rule, commit, {"matches": bound}))
    rng.shuffle(firings)
    world = Waiting(session, schema)
    world.made(firings)
    for how in ({"unique": True}, {"unique_on": ("k",)}, {}):
        queue = Queue(Action("a", ("r", "r2"), batching="by_clock", **how))  # type: ignore[arg-type]
        for one in firings:
            queue.append(one)
        wanted = listed(queue.due(datetime(9999, 1, 1), None))
        found = world.formed(rules, batching="by_clock", **how)
        assert found == wanted, (number, how)


def test_sixty_thousand_firings_are_formed_at_once(session: Any, schema: str) -> None:
    """As many batches as the lists make, in a query or two, whose time grows with the firings."""
    world, rng = Waiting(session, schema), random.Random(1)
    state = f"{schema}.tapestry_state"
    for own in (firings_table(state), batches_table(state)):
        create_own(session, own.name, own.columns, own.comment)
    micros = [0]
    while len(micros) < 60_000:
        micros.append(micros[-1] + rng.choice((0, 10_000, 20_000, 90_000)))
    seconds = {}
    for rule, many in (("few", 6_000), ("many", len(micros))):
        listed = micros[:many]
        world.do(
            f"insert into {{s}}.tapestry_firings select '{schema}.{rule}', '{rule}', 1L,"
            " place + 1, place + 1, timestamp_micros(at), 0L, 1L from"
            f" (select posexplode(from_json('{listed}', 'array<bigint>')) as (place, at))"
        )
        for after in (timedelta(seconds=1), timedelta(0)):
            began = monotonic()
            made = Rule(rule, "", (), after=after)
            found = world.formed([made], unique=True, batching="by_clock")
            seconds[rule] = monotonic() - began
            opened, count = -1, 0
            for at in listed:
                if opened < 0 or at >= opened:
                    opened, count = at + after // timedelta(microseconds=1), count + 1
            assert len(found) == count
            assert sum(one[3] for one in found) == many
            print(f"{after}: {count} batches of {many} firings in {seconds[rule]:.1f} s")
    assert seconds["many"] < 30 * seconds["few"], "ten times as many batches, and firings"
