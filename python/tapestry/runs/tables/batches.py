"""The table ``tapestry_batches``: the history of the batches of every action.

A row is an event of a batch; each repeats what was claimed. A batch is named by the action's life,
the number m of the round that claimed it, and its place i in the round. The claim of a round is one
INSERT under the transaction (action and life, m), which one process wins (rules, section 7).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

from tapestry.instants import from_micros
from tapestry.quoting import relation_name, string, timestamp
from tapestry.runs.engine.errors_of_delta import files_gone, not_found
from tapestry.runs.engine.own_tables import OwnTable, in_schema_of, refuse_other
from tapestry.runs.engine.session import Session
from tapestry.runs.tables.action_batch import (
    BORN,
    CLAIMED,
    OPEN,
    ActionBatch,
    ActionLife,
    ActionStanding,
    BatchEvent,
    Cut,
)
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
_INSTANTS = tuple(name for name, kind in COLUMNS.items() if kind == "timestamp")


def batches_table(state_table: str) -> OwnTable:
    """Return the table in the schema of the state."""
    name = in_schema_of(state_table, NAME)
    added = {"deadline": COLUMNS["deadline"]}
    return OwnTable(name, COLUMNS, "tapestry: the batches of every action", added)


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

    def standing(self) -> ActionStanding:
        """Read in one statement where the action stands."""
        own = "OVER (PARTITION BY life)"
        found = self._rows(
            f"SELECT life, _rounds, unix_micros(_last), {_LISTED} FROM (SELECT *, {_NEWEST},"
            f" max(m) {own} AS _rounds, max(at) {own} AS _last FROM"
            f" {relation_name(self.table.name)} WHERE action = {string(self.action)})"
            f" WHERE event = {string(BORN)} OR (_newest = 1 AND {_IS_OPEN})"
        )
        event, i, key, cut = (3 + _READ_NAMES.index(name) for name in ("event", "i", "key", "cut"))
        born = [row for row in found if row[event] == BORN]
        if not born:
            return ActionStanding()
        first = max(born, key=lambda row: int(row[i]))
        life = _life(self.action, first[0], first[i], first[cut], first[key])
        opened = (row[3:] for row in found if row[event] != BORN and row[0] == life.id)
        return ActionStanding(life, int(first[1]), _read_instant(first[2]), _in_order(opened))

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
        self.make_view()
        found = self.life()
        return life if found is None else found

    def make_view(self) -> None:
        """Let the relation of the action be a view of its batches."""
        self.session.run(
            f"CREATE OR REPLACE VIEW {relation_name(self.action)} AS SELECT * FROM"
            f" {relation_name(self.table.name)}"
            f" WHERE action = {string(self.action)} AND event <> {string(BORN)}"
        )

    def claim_round(self, life: ActionLife, batches: Sequence[ActionBatch]) -> bool:
        """Claim a round; return False if another process has claimed its number."""
        m, claim_id = batches[0].m, batches[0].event.claim_id
        key = f"tapestry.batches.{self.action}:{life.id}"
        rows = [self.row_of(life, one) for one in batches]
        write_once(self.session, self.table, self.table.inserting(rows, transaction(key, m)))
        found = self.read_rows("DISTINCT claim_id", f"life = {string(life.id)} AND m = {m:d}"
                          f" AND event = {string(CLAIMED)} AND attempt = 1")  # fmt: skip
        return [one for (one,) in found] == [claim_id]

    def claim_replay(
        self, life: ActionLife, dead: ActionBatch, now: datetime
    ) -> ActionBatch | None:
        """Claim the rows of a dead batch as another one, which the next run executes.

        None: a run has claimed a round at the same time. Claimed again after a process was killed
        it is the same batch.
        """
        event = BatchEvent(CLAIMED, 1, dead.replay_id, now, now)
        condition = f"life = {string(life.id)} AND claim_id = {string(dead.replay_id)}"
        for (m,) in self.read_rows("m", condition):
            return replace(dead, m=int(m), i=1, wave=0, event=event)
        new = replace(dead, m=self.last_round(life) + 1, i=1, wave=0, event=event)
        return new if self.claim_round(life, [new]) else None

    def note_events(self, life: ActionLife, batches: Sequence[ActionBatch]) -> None:
        """Write the events of batches."""
        if batches:
            rows = [self.row_of(life, one) for one in batches]
            self.table.write(self.session, self.table.inserting(rows))

    def unfinished(self, life: ActionLife) -> list[ActionBatch]:
        """Return the batches that are neither done nor over, each by its last event."""
        return self._newest(life, _IS_OPEN)

    def find_batch(self, life: ActionLife, m: int, i: int) -> ActionBatch | None:
        """Return a batch by its place, with its last event; None: there is none."""
        return next(iter(self._newest(life, f"m = {m:d} AND i = {i:d}")), None)

    def _newest(self, life: ActionLife, condition: str) -> list[ActionBatch]:
        """Return batches with their last event, for which the condition holds."""
        inner = (
            f"(SELECT *, {_NEWEST} FROM {relation_name(self.table.name)} WHERE action ="
            f" {string(self.action)} AND life = {string(life.id)} AND event <> {string(BORN)})"
        )
        where = f"_newest = 1 AND {condition}"
        return list(_in_order(self._rows(f"SELECT {_LISTED} FROM {inner} WHERE {where}")))

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


_READ_NAMES = tuple(name for name in COLUMNS if name not in ("action", "life", "deadline"))
_LISTED = ", ".join(map(_read, _READ_NAMES))
_NEWEST = "row_number() OVER (PARTITION BY life, m, i ORDER BY at DESC, attempt DESC) AS _newest"
_IS_OPEN = f"event IN ({', '.join(map(string, OPEN))})"


def _in_order(rows: Iterable[Sequence[Any]]) -> tuple[ActionBatch, ...]:
    return tuple(_batch(row) for row in sorted(rows, key=lambda row: (row[0], row[1])))


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
