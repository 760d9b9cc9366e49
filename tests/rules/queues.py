"""The queue of an action, literally: a list of what waits, from which each run takes (rules, §2).

without unique    each firing waits by itself
unique            all firings wait together, under the key ()
unique_on         the rows of a firing wait under their values, NULL like any other

at_start          all that waits under a key goes into its batch when a run begins
by_clock          a batch closes when it is released: what is committed then or later opens the next
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from tests.rules.definitions import Action, ActionRun, Key, Row
from tests.rules.firing import Bound, Firing

LONGEST_BACKOFF = timedelta(minutes=10)
Bag = Counter[Row]


@dataclass(frozen=True)
class Waiting:
    """What one firing has left under a key: its rows, by bound table."""

    key: Key | None
    firing: Firing
    rows: Mapping[str, tuple[Row, ...]]


@dataclass(frozen=True)
class Batch:
    """What goes to an action at once; ``attempts``: so often it has been executed.

    ``again_at``: it has failed, and is executed again then; ``behind``: it was not executed, for an
    earlier batch of its key has failed.
    """

    key: Key | None
    release: datetime
    parts: tuple[Waiting, ...]
    attempts: int = 0
    again_at: datetime | None = None
    behind: bool = False

    @property
    def firings(self) -> frozenset[tuple[str, int, int]]:
        """Its firings, each as (rule, version, transaction)."""
        commits = ((one.firing.rule.name, one.firing.commit) for one in self.parts)
        return frozenset((rule, one.version, one.transaction) for rule, one in commits)

    @property
    def rows(self) -> dict[str, Bag]:
        """Its rows by bound table, each as a bag."""
        found: dict[str, Bag] = {name: Counter() for one in self.parts for name in one.rows}
        for one in self.parts:
            for name, rows in one.rows.items():
                found[name].update(rows)
        return found

    @property
    def order(self) -> tuple[Any, ...]:
        """Its place among the batches of a run."""
        first = min(one.firing.place for one in self.parts)
        values = tuple((value is not None, value or 0) for value in self.key or ())
        return (self.release, first, values)


def released(parts: tuple[Waiting, ...]) -> datetime:
    """The commit time of the oldest firing, and as long as its rule waits.

    Of several rules that fire on that commit the shortest wait counts.
    """
    oldest = min(parts, key=lambda one: one.firing.place).firing.commit
    return min(oldest.time + one.firing.rule.after for one in parts if one.firing.commit == oldest)


def closed_by_clock(parts: tuple[Waiting, ...]) -> list[tuple[Waiting, ...]]:
    """The batches of a key, each closed at its release, as if it were executed then."""
    found = []
    left = sorted(parts, key=lambda one: one.firing.place)
    while left:
        opened = left[0].firing.commit
        release = released(tuple(one for one in left if one.firing.commit == opened))
        taken = [
            one for one in left if one.firing.commit == opened or one.firing.commit.time < release
        ]
        found.append(tuple(taken))
        left = [one for one in left if one not in taken]
    return found


class Queue:
    """What waits for one action.

    held
        Batches that are not over, in the order of opening.
    blocked
        Dead keys.
    """

    def __init__(self, action: Action) -> None:
        self.action = action
        self.waiting: list[Waiting] = []
        self.held: list[Batch] = []
        self.blocked: set[Key] = set()

    def append(self, firing: Firing) -> None:
        """A firing comes in."""
        whole = {name: bound.rows for name, bound in firing.bound.items()}
        if not self.action.unique_on:
            key: Key | None = () if self.action.unique else None
            self.waiting.append(Waiting(key, firing, whole))
            return
        split = {
            name: self.by_key(bound) for name, bound in firing.bound.items() if self.splits(bound)
        }
        assert split, "no bound table has the unique columns"
        for key in dict.fromkeys(key for found in split.values() for key in found):
            own = {name: tuple(found.get(key, ())) for name, found in split.items()}
            self.waiting.append(Waiting(key, firing, {**whole, **own}))

    def splits(self, bound: Bound) -> bool:
        """Is a bound table split? It has all of the unique columns, or none."""
        has = sum(name in bound.columns for name in self.action.unique_on)
        assert has in (0, len(self.action.unique_on)), "some of the unique columns are missing"
        return has > 0

    def by_key(self, bound: Bound) -> dict[Key, list[Row]]:
        """The rows of a bound table, by their values in the unique columns."""
        places = [bound.columns.index(name) for name in self.action.unique_on]
        found: dict[Key, list[Row]] = {}
        for row in bound.rows:
            found.setdefault(tuple(row[place] for place in places), []).append(row)
        return found

    def due(self, t: datetime, unseen: datetime | None) -> list[Batch]:
        """The batches that may start at t, in their order; a key with an open batch has none.

        A batch that closes by the clock may start once all commits before its release were looked
        at; ``unseen`` is the time of the first one that was not.
        """
        closed = self.blocked | {one.key for one in self.held if one.key is not None}
        groups: dict[Any, list[Waiting]] = {}
        for place, one in enumerate(self.waiting):
            if one.key is None or one.key not in closed:
                groups.setdefault(place if one.key is None else one.key, []).append(one)
        batches = []
        by_clock = self.action.batching == "by_clock"
        for group in groups.values():
            for parts in closed_by_clock(tuple(group)) if by_clock else [tuple(group)]:
                release = released(parts)
                if release <= t and not (by_clock and unseen is not None and unseen < release):
                    batches.append(Batch(parts[0].key, release, parts))
        return sorted(batches, key=lambda one: one.order)

    def again(self, t: datetime) -> list[Batch]:
        """The open batches that are executed at t: none before an earlier one of its key."""
        found: list[Batch] = []
        stopped = set(self.blocked)
        for one in self.held:
            ready = one.behind or (one.again_at is not None and one.again_at <= t)
            if ready and (one.key is None or one.key not in stopped):
                found.append(one)
            elif one.key is not None:
                stopped.add(one.key)
        return found

    def run(self, run: ActionRun, unseen: datetime | None = None) -> list[Batch]:
        """A run of the action: the batches that it has executed with success."""
        again = self.again(run.t)
        new = self.due(run.t, unseen)[: max(self.action.max_batches - len(again), 0)]
        for one in new:
            for part in one.parts:
                self.waiting.remove(part)
        self.held += new
        done: list[Batch] = []
        failed: set[Key | None] = set()
        for batch in [*again, *new]:
            if batch.key is not None and batch.key in failed:
                self.becomes(batch, replace(batch, behind=True, again_at=None))
            elif batch.key in run.failing:
                failed.add(batch.key)
                self.fail(batch, run.t)
            else:
                self.becomes(batch, None)
                done.append(batch)
        return done

    def fail(self, batch: Batch, t: datetime) -> None:
        """A batch has failed: it is tried again as it is, or it is dead."""
        attempts = batch.attempts + 1
        if attempts < self.action.attempts:
            wait = min(self.action.backoff * 2 ** (attempts - 1), LONGEST_BACKOFF)
            after = replace(batch, attempts=attempts, again_at=t + wait, behind=False)
            self.becomes(batch, after)
            return
        self.becomes(batch, None)
        if self.action.on_dead == "block" and batch.key is not None:
            self.blocked.add(batch.key)

    def becomes(self, batch: Batch, after: Batch | None) -> None:
        """Another state of an open batch; None: it is over."""
        place = next(i for i, one in enumerate(self.held) if one.parts == batch.parts)
        self.held[place : place + 1] = [] if after is None else [after]
