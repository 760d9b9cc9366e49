"""The table ``tapestry_batches``: the history of the batches of every action.

A row is an event of a batch; each repeats what was claimed. A batch is named by the action's life,
the number m of the round that claimed it, and its place i in the round. The claim of a round is one
INSERT under the transaction (action and life, m), which one process wins (rules, section 7).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

from tapestry.instants import from_micros
from tapestry.quoting import relation_name, string, timestamp
from tapestry.runs.engine.errors_of_delta import files_gone, not_found
from tapestry.runs.engine.own_tables import OwnTable, in_schema_of, refuse_other
from tapestry.runs.engine.session import Session
from tapestry.runs.tables.claims import write_once
from tapestry.runs.tables.target import transaction

NAME: Final = "tapestry_batches"
COLUMNS: Final = {
    "action": "string",
    "life": "string",
    "m": "bigint",
    "i": "bigint",
    "key": "string",
    "cut": "string",
    "firings": "bigint",
    "rows": "bigint",
    "first_commit_time": "timestamp",
    "release": "timestamp",
    "deadline": "timestamp",
    "depth": "bigint",
    "wave": "bigint",
    "event": "string",
    "attempt": "bigint",
    "claim_id": "string",
    "lease_until": "timestamp",
    "at": "timestamp",
    "seconds": "double",
    "error": "string",
}
BORN, CLAIMED, DONE, FAILED, DEAD = "born", "claimed", "done", "failed", "dead"
WAITS = "waits"
"""A batch that was claimed and not executed: an earlier one of its key has failed, or the time of
the round was over."""
OPEN = (CLAIMED, WAITS, FAILED, DEAD)
"""A batch with one of these as its last event is not over."""
REPLAYED, DROPPED, ABSORBED = "replayed", "dropped", "absorbed"
"""Ends of a dead batch: another one has its rows, none ever will, or the tables that the action
writes hold them already."""
LONGEST_ERROR = 2_000
_INSTANTS = tuple(name for name, kind in COLUMNS.items() if kind == "timestamp")


@dataclass(frozen=True)
class Cut:
    """The frozen rows of one rule: firings after ``after`` up to ``until``, as of its run n."""

    generation: str
    n: int
    after: int
    until: int
    failed: tuple[int, ...] = ()


@dataclass(frozen=True)
class BatchEvent:
    """An event of a batch: its claim, or its outcome.

    lease_until
        For a claim: when anybody may execute the batch, by the clock; for a failure: when it is
        executed again, by t.
    """

    what: str = CLAIMED
    attempt: int = 1
    claim_id: str = ""
    lease_until: datetime | None = None
    at: datetime | None = None
    seconds: float | None = None
    error: str | None = None


@dataclass(frozen=True)
class ActionBatch:
    """A batch with its last event.

    key
        The values that its rows share, as JSON text; None: it is one firing.
    cut
        By rule.
    wave
        Batches of a round with the same number are executed by one statement; 0: it is alone.
    again
        It was claimed before, and may have been executed.
    """

    m: int
    i: int
    key: str | None
    cut: Mapping[str, Cut]
    firings: int
    rows: int
    first_commit_time: datetime
    release: datetime
    depth: int = 0
    wave: int = 0
    event: BatchEvent = BatchEvent()
    again: bool = False

    @property
    def place(self) -> str:
        """The name of the batch behind that of its action."""
        return f"{self.m}/{self.i}"

    def became(
        self,
        what: str,
        at: datetime,
        seconds: float,
        error: str = "",
        again_at: datetime | None = None,
    ) -> ActionBatch:
        """Return the batch after an event; ``again_at``: a failed one is executed again by then."""
        said = error[:LONGEST_ERROR] or None
        event = replace(
            self.event, what=what, at=at, seconds=seconds, error=said, lease_until=again_at
        )
        return replace(self, event=event)


def batches_table(state_table: str) -> OwnTable:
    """Return the table in the schema of the state."""
    name = in_schema_of(state_table, NAME)
    added = {"deadline": COLUMNS["deadline"]}
    return OwnTable(name, COLUMNS, "tapestry: the batches of every action", added)


@dataclass(frozen=True)
class ActionLife:
    """An action from its first run, or a --full-refresh, to the next.

    begin
        By rule: the generation, and the last firing that does not belong to this life.
    unit
        What the rows of its batches have in common (``ActionConfig.unit``); None: unknown.
    """

    action: str
    id: str
    number: int
    begin: Mapping[str, tuple[str, int]]
    unit: str | None = None


@dataclass(frozen=True)
class BatchesOfAction:
    """The batches of one action, each to be executed so long after its release."""

    session: Session
    table: OwnTable
    action: str
    deadline: timedelta | None = None

    def read_rows(self, listed: str, condition: str) -> list[tuple[Any, ...]]:
        """Return rows of the action; none where there is no table yet.

        Raises StateUnreadable where the table is not as runs make it.
        """
        return self._rows(
            f"SELECT {listed} FROM {relation_name(self.table.name)}"
            f" WHERE action = {string(self.action)} AND {condition}"
        )

    def _rows(self, sql: str) -> list[tuple[Any, ...]]:
        try:
            return self.session.rows(sql)
        except Exception as error:
            if not_found(error) or files_gone(error):
                return []
            refuse_other(self.session, self.table.name, COLUMNS)
            raise

    def life(self) -> ActionLife | None:
        """Return the newest life; None: the action has not run yet."""
        found = self.read_rows("life, i, cut, key", f"event = {string(BORN)}")
        if not found:
            return None
        return _life(self.action, *max(found, key=lambda row: int(row[1])))

    def begin_life(self, life: ActionLife, now: datetime) -> ActionLife:
        """Begin a life, once under its number; return the one that stands.

        The relation of the action is a view of its batches from then on.
        """
        values = dict.fromkeys(COLUMNS, "NULL") | {
            "action": string(self.action),
            "life": string(life.id),
            "m": "0",
            "i": str(life.number),
            "key": "NULL" if life.unit is None else string(life.unit),
            "cut": string(json.dumps(life.begin)),
            "event": string(BORN),
            "at": timestamp(now),
        }
        under = transaction(f"tapestry.action.{self.action}", life.number)
        write_once(self.session, self.table, self.table.inserting([values], under))
        self.session.run(
            f"CREATE OR REPLACE VIEW {relation_name(self.action)} AS SELECT * FROM"
            f" {relation_name(self.table.name)}"
            f" WHERE action = {string(self.action)} AND event <> {string(BORN)}"
        )
        found = self.life()
        return life if found is None else found

    def claim_round(self, life: ActionLife, batches: Sequence[ActionBatch]) -> bool:
        """Claim a round; return False if another process has claimed its number."""
        m, claim_id = batches[0].m, batches[0].event.claim_id
        key = f"tapestry.batches.{self.action}:{life.id}"
        rows = [self.row_of(life, one) for one in batches]
        write_once(self.session, self.table, self.table.inserting(rows, transaction(key, m)))
        found = self.read_rows("DISTINCT claim_id", f"life = {string(life.id)} AND m = {m:d}"
                          f" AND event = {string(CLAIMED)} AND attempt = 1")  # fmt: skip
        return [one for (one,) in found] == [claim_id]

    def note_events(self, life: ActionLife, batches: Sequence[ActionBatch]) -> None:
        """Write the events of batches."""
        if batches:
            rows = [self.row_of(life, one) for one in batches]
            self.table.write(self.session, self.table.inserting(rows))

    def unfinished(self, life: ActionLife) -> list[ActionBatch]:
        """Return the batches that are neither done nor over, each by its last event."""
        return self._newest(life, f"event IN ({', '.join(map(string, OPEN))})")

    def find_batch(self, life: ActionLife, m: int, i: int) -> ActionBatch | None:
        """Return a batch by its place, with its last event; None: there is none."""
        return next(iter(self._newest(life, f"m = {m:d} AND i = {i:d}")), None)

    def _newest(self, life: ActionLife, condition: str) -> list[ActionBatch]:
        """Return batches with their last event, for which the condition holds."""
        names = (name for name in COLUMNS if name not in ("action", "life", "deadline"))
        listed = ", ".join(map(_read, names))
        newest = "row_number() OVER (PARTITION BY m, i ORDER BY at DESC, attempt DESC) AS _newest"
        inner = (
            f"(SELECT *, {newest} FROM {relation_name(self.table.name)} WHERE action ="
            f" {string(self.action)} AND life = {string(life.id)} AND event <> {string(BORN)})"
        )
        rows = self._rows(f"SELECT {listed} FROM {inner} WHERE _newest = 1 AND {condition}")
        return [_batch(row) for row in sorted(rows, key=lambda row: (row[0], row[1]))]

    def generations(self, life: ActionLife, rule: str) -> list[str]:
        """Return the generations of a rule whose firings batches of a life have taken."""
        cuts = self.read_rows("DISTINCT cut", f"life = {string(life.id)} AND m > 0")
        read = (json.loads(cut).get(rule) for (cut,) in cuts)
        return sorted({str(one[0]) for one in read if one})

    def last_round(self, life: ActionLife) -> int:
        """Return the greatest m that was claimed; 0: none was."""
        ((m,),) = self.read_rows("coalesce(max(m), 0)", f"life = {string(life.id)}") or [(0,)]
        return int(m)

    def row_of(self, life: ActionLife, one: ActionBatch) -> dict[str, str]:
        """Return a row, each value as SQL."""
        cut = {
            rule: [c.generation, c.n, c.after, c.until, list(c.failed)]
            for rule, c in one.cut.items()
        }
        event = one.event
        return {
            "action": string(self.action),
            "life": string(life.id),
            "m": f"{one.m:d}",
            "i": f"{one.i:d}",
            "key": "NULL" if one.key is None else string(one.key),
            "cut": string(json.dumps(cut)),
            "firings": f"{one.firings:d}",
            "rows": f"{one.rows:d}",
            "first_commit_time": timestamp(one.first_commit_time),
            "release": timestamp(one.release),
            "deadline": _instant(None if self.deadline is None else one.release + self.deadline),
            "depth": f"{one.depth:d}",
            "wave": f"{one.wave:d}",
            "event": string(event.what),
            "attempt": f"{event.attempt:d}",
            "claim_id": string(event.claim_id),
            "lease_until": _instant(event.lease_until),
            "at": _instant(event.at),
            "seconds": "NULL" if event.seconds is None else f"{event.seconds:.3f}D",
            "error": "NULL" if event.error is None else string(event.error),
        }


def newest_lives(session: Session, table: OwnTable) -> list[ActionLife]:
    """Return the newest life of each action."""
    rows = session.rows(
        f"SELECT action, max_by(struct(life, i, cut, key), i) FROM {relation_name(table.name)}"
        f" WHERE event = {string(BORN)} GROUP BY action"
    )
    return [_life(str(action), *told) for action, told in rows]


def _life(action: str, life: Any, number: Any, cut: str, unit: str | None) -> ActionLife:
    begin = {rule: (str(g), int(v)) for rule, (g, v) in json.loads(cut).items()}
    return ActionLife(action, str(life), int(number), begin, unit)


def _read(name: str) -> str:
    return f"unix_micros({name}) AS {name}" if name in _INSTANTS else name


def _instant(at: datetime | None) -> str:
    return "NULL" if at is None else timestamp(at)


def _read_instant(count: Any) -> datetime | None:
    return None if count is None else from_micros(int(count))


def _batch(row: Sequence[Any]) -> ActionBatch:
    m, i, key, cut, firings, rows, first, release, depth, wave, *rest = row
    what, attempt, claim_id, lease_until, at, seconds, error = rest
    cuts = {
        rule: Cut(str(g), int(n), int(after), int(until), tuple(map(int, failed)))
        for rule, (g, n, after, until, failed) in json.loads(cut).items()
    }
    event = BatchEvent(
        str(what), int(attempt), str(claim_id), _read_instant(lease_until), _read_instant(at),
        seconds, error,
    )  # fmt: skip
    return ActionBatch(
        int(m), int(i), None if key is None else str(key), cuts, int(firings), int(rows),
        from_micros(int(first)), from_micros(int(release)), int(depth), int(wave), event,
    )  # fmt: skip
