"""``tapestry_deliveries``: how far each sink got, kept in Delta beside the model's state.

What a sink gets is cut into batches, numbered m = 1, 2, … . A batch is an interval (after, until]
of first instants: a run appends exactly the answers whose first instant lies in its window, and
windows of one generation follow one another, so an interval that ends where a run ended never
gains a row. A batch is *claimed* before it is sent and *done* after that; one that was claimed and
not done is sent again as it was. A claim of m is a Delta transaction (life of the sink, m) of this
table: of several claimers one stands, whoever else tries. A sink whose lines were deleted begins a
new life, so that nothing that bears an old number stands in its way.

A table that was rewound to T, or built anew up to T, goes on from min(until, T): what was answered
after T is answered anew.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import uuid4

from tapestry.errors import StateUnreadable
from tapestry.instants import micros
from tapestry.quoting import relation_name, string, timestamp
from tapestry.runs.engine.errors_of_delta import files_gone, loudness_of_tidying, not_found
from tapestry.runs.engine.odd_rows import Fields, Odd, OddRow, check_seal, read_row, sealed, shown
from tapestry.runs.engine.own_tables import OwnTable, append_own, refuse_other, widened_rows
from tapestry.runs.engine.session import Session
from tapestry.runs.tables.claims import Claim, Claimant, put_once, wins
from tapestry.runs.tables.state import runs_of
from tapestry.runs.tables.state_row import StateRow

logger = logging.getLogger(__name__)

COLUMNS: Mapping[str, str] = {
    "model": "string",
    "sink": "string",
    "m": "bigint",
    "event": "string",
    "generation": "string",
    "after": "timestamp",
    "until": "timestamp",
    "parts": "bigint",
    "life": "string",
    "claim_id": "string",
    "noted_at": "timestamp",
    "seal": "string",
}
ADDED = {"seal": "string"}
"""Columns that tables of earlier versions lack."""
BEGUN, CLAIMED, DONE = "begun", "claimed", "done"
PARTS = "parts"
EVENTS = (BEGUN, CLAIMED, PARTS, DONE)
COMMENT = "tapestry: how far each sink got; do not edit"
KEEP = 100
"""Batches of a sink that stay on record."""
_INSTANTS = ("after", "until")
_READ = [name for name in COLUMNS if name != "noted_at"]
_KEY = ("model", "sink", "m", "event")


@dataclass(frozen=True)
class Batch:
    """One batch of one sink of one model.

    life
        Which beginning of the sink it belongs to.
    parts
        How many of its parts were sent when sending it stopped: they are not sent again.
    done
        False: it was claimed, and is to be sent (again).
    sealed
        Its line is as it was written. Lines of earlier versions have no seal that tells.
    """

    model: str
    sink: str
    m: int
    generation: str
    after: datetime
    until: datetime
    life: str
    parts: int = 0
    claim_id: str = ""
    done: bool = False
    sealed: bool = field(default=True, compare=False)


def read_batches(session: Session, table: str, model: str) -> dict[str, Batch | OddRow]:
    """The newest batch of every sink of a model, by the sink's name.

    An `OddRow` where what stands there is nothing that a delivery has written: that sink got
    something nobody knows, and is no new one. Raises StateUnreadable where the table itself is not
    as deliveries make it.
    """
    items = ", ".join(f"unix_micros({c}) AS {c}" if c in _INSTANTS else c for c in _READ)
    asked = (
        f"SELECT {', '.join(_READ)} FROM (SELECT {items},"
        " rank() OVER (PARTITION BY sink ORDER BY m DESC) AS _newest"
        f" FROM {relation_name(table)} WHERE model = {string(model)}) AS _n WHERE _newest = 1"
    )
    try:
        rows = widened_rows(session, table, asked, ADDED)
    except Exception as error:
        if not_found(error) or files_gone(error):
            return {}
        refuse_other(session, table, COLUMNS)
        raise
    lines: dict[str, list[_Line | OddRow]] = {}
    for values in rows:
        named = dict(zip(_READ, values, strict=True))
        line = read_row(table, _KEY, named, _parse)
        lines.setdefault(str(named["sink"]), []).append(line)
    return {sink: _newest(table, found) for sink, found in lines.items()}


@dataclass(frozen=True)
class _Line:
    """A row of the table: what happened to a batch."""

    batch: Batch
    event: str


def _parse(fields: Fields) -> _Line:
    event = fields.text("event")
    if event not in EVENTS:
        raise Odd(f"event is none of {', '.join(EVENTS)} but {shown(event)}")
    batch = Batch(
        fields.text("model"),
        fields.text("sink"),
        fields.whole("m"),
        fields.text("generation"),
        fields.instant("after"),
        fields.instant("until"),
        fields.text("life"),
        fields.whole("parts"),
        fields.text("claim_id"),
    )
    if batch.until < batch.after:
        raise Odd(f"it ends before it begins: after is {batch.after}, until is {batch.until}")
    own = check_seal(fields.optional_text("seal"), _sealed(batch, event, batch.parts))
    return _Line(replace(batch, sealed=own), event)


def _newest(table: str, found: Sequence[_Line | OddRow]) -> Batch | OddRow:
    """Return the batch of several lines; of two beginnings of a sink one counts."""
    for odd in found:
        if isinstance(odd, OddRow):
            return odd
    lines = [line for line in found if isinstance(line, _Line)]
    life = min(line.batch.life for line in lines)
    lines = [line for line in lines if line.batch.life == life]
    claims = [line.batch for line in lines if line.event in (BEGUN, CLAIMED)]
    whose = {_whose(line.batch) for line in lines}
    if not claims or len(whose) > 1:
        batch = lines[0].batch
        key = tuple((name, getattr(batch, name)) for name in _KEY if name != "event")
        return OddRow(table, key, "its lines differ" if claims else "nobody claimed it")
    return replace(
        claims[0],
        parts=max(line.batch.parts for line in lines),
        done=any(line.event in (DONE, BEGUN) for line in lines),
    )


def _whose(batch: Batch) -> Batch:
    """Return the identity of a batch, common to its lines: a rewind cuts its end, not its begin."""
    return replace(batch, until=batch.after, parts=0, done=False)


def _sealed(batch: Batch, event: str, parts: int) -> list[object]:
    """Return the values that the seal of a line covers."""
    return [
        batch.model,
        batch.sink,
        batch.m,
        event,
        batch.generation,
        micros(batch.after),
        micros(batch.until),
        parts,
        batch.life,
        batch.claim_id,
    ]


def refuse_ahead(table: str, last: Batch | None, row: StateRow) -> Batch | OddRow | None:
    """A batch of the generation in force that ends after the table's newest run is none of ours:
    what comes until then would never be sent.

    One with a seal is: another process has run and delivered since ``row`` was read.
    """
    if (
        last is None
        or last.sealed
        or last.generation != row.generation
        or last.until <= row.after.t
    ):
        return last
    key = tuple((name, getattr(last, name)) for name in _KEY if name != "event")
    return OddRow(
        table, key, f"until is {last.until}, and the table's newest run ended at {row.after.t}"
    )


def unreadable(odd: OddRow) -> StateUnreadable:
    """Return the error for a sink that is left alone, as its position is unknown."""
    return StateUnreadable(
        f"how far the sink {odd.named('sink')} got cannot be read: {odd.reason}",
        where=odd.where,
        hint="put that row right (the table's DESCRIBE HISTORY tells who wrote it), or delete it if"
        " it is one too many; without any row the sink begins anew",
    )


def begin(
    session: Session, table: str, model: str, sink: str, generation: str, t: datetime
) -> None:
    """Write the first line of a new sink, at t: it gets no older answers."""
    life = uuid4().hex
    begun = Batch(model, sink, 0, generation, t, t, life, claim_id=life)
    put_once(session, _claim(table, begun, BEGUN))


def claim(
    session: Session, table: str, last: Batch, generation: str, after: datetime, until: datetime
) -> Batch | None:
    """Return the batch after ``last``; None if another process claimed it first."""
    mine = uuid4().hex
    batch = Batch(
        last.model, last.sink, last.m + 1, generation, after, until, last.life, claim_id=mine
    )
    if wins(session, _claim(table, batch, CLAIMED), Claimant("claim_id", mine, (*_KEY, "life"))):
        return batch
    standing = read_batches(session, table, last.model).get(last.sink)
    if isinstance(standing, OddRow):
        raise unreadable(standing)
    return None


def note_parts(session: Session, table: str, batch: Batch, parts: int) -> None:
    """Write how many parts were sent before sending stopped."""
    append_own(session, _own(table), [_values(batch, PARTS, parts)])


def finish(session: Session, table: str, batch: Batch) -> None:
    """Write that the sink has the whole batch."""
    put_once(session, _claim(table, batch, DONE))
    if batch.m % KEEP == 0:
        drop_old_batches(session, table, batch)


def drop_old_batches(session: Session, table: str, batch: Batch) -> None:
    """Drop old batches and merge small files; errors are ignored, as nothing depends on it."""
    try:
        session.run(
            f"DELETE FROM {relation_name(table)} WHERE model = {string(batch.model)}"
            f" AND sink = {string(batch.sink)} AND m < {batch.m}"
        )
        session.run(f"OPTIMIZE {relation_name(table)}")
    except Exception as error:
        level = loudness_of_tidying(error)
        logger.log(level, "old batches were not dropped this time: %s", error)


def position(session: Session, state_table: str, last: Batch, row: StateRow) -> datetime:
    """Return the instant up to which a sink has the table's rows; ``row``: its newest run."""
    until, current = last.until, row
    while current.generation != last.generation:
        runs = runs_of(session, state_table, current.generation)
        if runs and runs[0].n == 1:
            until = min(until, runs[0].after.t)
        before = runs_of(session, state_table, current.continues) if current.continues else []
        if not before:
            break
        current = before[-1]
    return until


def _claim(table: str, batch: Batch, event: str) -> Claim:
    """Return the claim of a line, unique for each (life of the sink, m, event)."""
    key = f"tapestry.delivery.{event}.{batch.life}"
    return Claim(_own(table), key, batch.m, _values(batch, event, batch.parts))


def _own(table: str) -> OwnTable:
    return OwnTable(table, COLUMNS, COMMENT, ADDED)


def _values(batch: Batch, event: str, parts: int) -> dict[str, str]:
    return {
        **{name: string(getattr(batch, name)) for name in ("model", "sink", "generation")},
        "m": str(batch.m),
        "event": string(event),
        "after": timestamp(batch.after),
        "until": timestamp(batch.until),
        "parts": str(parts),
        "life": string(batch.life),
        "claim_id": string(batch.claim_id),
        "noted_at": "current_timestamp()",
        "seal": string(sealed(_sealed(batch, event, parts))),
    }
