"""The batches of actions as the report shows them, from ``tapestry_batches``.

A batch is told by its last event.

An action's figures are those of its newest life: since it was made, or last run with
--full-refresh.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median
from typing import Any, Final

from tapestry.report.rows import LONGEST, NAME, TEXT, Readings, Unread, one_of, past_instant
from tapestry.runs.engine.odd_rows import Fields
from tapestry.runs.tables.action_batch import ABSORBED, BORN, DONE, DROPPED, OPEN, REPLAYED
from tapestry.runs.tables.batches import NAME as TABLE

KEY: Final = ("action", "m", "i")
EVENTS: Final = (BORN, *OPEN, DONE, REPLAYED, DROPPED, ABSORBED)


@dataclass(frozen=True)
class SeenBatch:
    """A batch by its last event; ``claimed_at``: when a run first claimed it."""

    action: str
    life: str
    m: int
    i: int
    event: str
    at: datetime
    key: str | None = None
    rules: tuple[str, ...] = ()
    firings: int = 0
    rows: int = 0
    release: datetime | None = None
    claimed_at: datetime | None = None
    attempt: int = 1
    seconds: float | None = None
    error: str | None = None

    @property
    def name(self) -> str:
        """Return the name by which the commands know it."""
        return f"{self.action.rpartition('.')[2]}/{self.m}/{self.i}"

    @property
    def waited(self) -> timedelta | None:
        """Return the time from its release to its claim by a run; None if never claimed."""
        if self.claimed_at is None or self.release is None:
            return None
        return max(self.claimed_at - self.release, timedelta(0))


@dataclass(frozen=True)
class ActionRecord:
    """The batches of an action in its newest life; the newest comes first."""

    action: str
    batches: tuple[SeenBatch, ...] = ()
    since: datetime | None = None

    @property
    def done(self) -> list[SeenBatch]:
        """The batches that took effect."""
        return self.with_event(DONE)

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules whose firings it has had."""
        return tuple(sorted({rule for batch in self.batches for rule in batch.rules}))

    @property
    def firings(self) -> int:
        """Firings in batches that took effect; one counts in each batch that has rows of it."""
        return sum(batch.firings for batch in self.done)

    @property
    def rows_a_batch(self) -> float | None:
        """The median number of rows of the batches that took effect."""
        return self._middle([float(batch.rows) for batch in self.done])

    @property
    def seconds_a_batch(self) -> float | None:
        """The median duration of the batches that took effect."""
        return self._middle([one.seconds for one in self.done if one.seconds is not None])

    @property
    def waits(self) -> list[timedelta]:
        """The times from release to claim of the batches, the shortest first."""
        return sorted(one.waited for one in self.batches if one.waited is not None)

    @property
    def usual_wait(self) -> timedelta | None:
        """The median of these times."""
        return self.waits[len(self.waits) // 2] if self.waits else None

    @property
    def longest_wait(self) -> timedelta | None:
        """The longest of these times."""
        return self.waits[-1] if self.waits else None

    def with_event(self, event: str) -> list[SeenBatch]:
        """Return the batches whose last event is this one."""
        return [batch for batch in self.batches if batch.event == event]

    @staticmethod
    def _middle(values: Sequence[float]) -> float | None:
        return median(values) if values else None


def actions_from(
    rows: Iterable[Mapping[str, Any]], latest: datetime
) -> tuple[dict[str, ActionRecord], tuple[Unread, ...]]:
    """Return the actions by their relations, and the rows that no run can have written."""
    readings = Readings(TABLE, latest)
    found = [SeenBatch(**values) for values in readings.read(rows, _batch, KEY)]
    lives: dict[str, SeenBatch] = {}
    for one in sorted(found, key=lambda batch: batch.i):
        if one.event == BORN:
            lives[one.action] = one
    records = {}
    for action in sorted({one.action for one in found}):
        life = lives.get(action)
        of_life = [
            one
            for one in found
            if one.action == action
            and one.event != BORN
            and (life is None or one.life == life.life)
        ]
        newest = sorted(of_life, key=lambda one: (one.at, one.m, one.i), reverse=True)
        records[action] = ActionRecord(action, tuple(newest), None if life is None else life.at)
    return records, readings.left_out


def _batch(fields: Fields, latest: datetime) -> dict[str, Any]:
    values: dict[str, Any] = {
        "action": fields.text("action", NAME),
        "life": fields.text("life", NAME),
        "m": fields.whole("m"),
        "i": fields.whole("i"),
        "event": one_of(fields, "event", EVENTS) or BORN,
        "at": past_instant(fields, "at", latest) or fields.instant("at"),
        "key": fields.optional_text("key", TEXT),
        "rules": _rules(fields.optional_text("cut", TEXT)),
        "firings": fields.optional_whole("firings") or 0,
        "rows": fields.optional_whole("rows") or 0,
        "release": fields.optional_instant("release"),
        "claimed_at": fields.optional_instant("claimed_at"),
        "attempt": fields.optional_whole("attempt") or 1,
        "seconds": fields.optional_number("seconds", 0, LONGEST),
        "error": fields.optional_text("error", TEXT),
    }
    return values


def _rules(cut: str | None) -> tuple[str, ...]:
    try:
        found = json.loads(cut or "{}")
    except (ValueError, RecursionError):
        return ()
    return tuple(str(name)[:NAME] for name in found) if isinstance(found, dict) else ()
