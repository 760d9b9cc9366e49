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
from dataclasses import dataclass
from datetime import datetime
from uuid import uuid4

from tapestry.instants import from_micros
from tapestry.quoting import properties, relation_name, string, timestamp
from tapestry.runs.errors_of_delta import lost_race, loudness_of_tidying, not_found
from tapestry.runs.own_tables import create_own, lost_own
from tapestry.runs.session import Session
from tapestry.runs.state import StateRow, runs_of

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
}
BEGUN, CLAIMED, DONE = "begun", "claimed", "done"
COMMENT = "tapestry: how far each sink got; do not edit"
KEEP = 100
"""Batches of a sink that stay on record."""


@dataclass(frozen=True)
class Batch:
    """One batch of one sink of one model.

    life
        Which beginning of the sink it belongs to.
    parts
        How many of its parts were sent when sending it stopped: they are not sent again.
    done
        False: it was claimed, and is to be sent (again).
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


def read_batches(session: Session, table: str, model: str) -> dict[str, Batch]:
    """The newest batch of every sink of a model, by the sink's name."""
    newest = (
        f"SELECT sink AS of_sink, max(m) AS newest FROM {relation_name(table)}"
        f" WHERE model = {string(model)} GROUP BY sink"
    )
    asked = (
        "SELECT sink, m, event, generation, unix_micros(after), unix_micros(until), parts,"
        " life, claim_id"
        f" FROM {relation_name(table)} JOIN ({newest}) AS _n ON sink = of_sink AND m = newest"
        f" WHERE model = {string(model)}"
    )
    try:
        rows = session.rows(asked)
    except Exception as error:
        if not_found(error):
            return {}
        raise
    found: dict[str, Batch] = {}
    for sink in {str(row[0]) for row in rows}:
        lines = sorted((row for row in rows if row[0] == sink), key=lambda row: str(row[7]))
        lines = [row for row in lines if row[7] == lines[0][7]]  # of two beginnings one counts
        first = next(row for row in lines if row[2] in (BEGUN, CLAIMED))
        found[sink] = Batch(
            model,
            sink,
            int(first[1]),
            str(first[3]),
            from_micros(int(first[4])),
            from_micros(int(first[5])),
            str(first[7]),
            max(int(row[6] or 0) for row in lines),
            str(first[8]),
            any(row[2] in (DONE, BEGUN) for row in lines),
        )
    return found


def begin(
    session: Session, table: str, model: str, sink: str, generation: str, t: datetime
) -> None:
    """A sink that was not there before starts at t: it gets nothing older than itself."""
    life = uuid4().hex
    _note(session, table, Batch(model, sink, 0, generation, t, t, life, claim_id=life), BEGUN)


def claim(
    session: Session, table: str, last: Batch, generation: str, after: datetime, until: datetime
) -> Batch | None:
    """The batch after ``last``; None where somebody else claimed it first."""
    mine = uuid4().hex
    batch = Batch(
        last.model, last.sink, last.m + 1, generation, after, until, last.life, claim_id=mine
    )
    _note(session, table, batch, CLAIMED)
    standing = read_batches(session, table, last.model).get(last.sink)
    return batch if standing is not None and standing.claim_id == batch.claim_id else None


def note_parts(session: Session, table: str, batch: Batch, parts: int) -> None:
    """So many parts were sent before sending it stopped."""
    _insert(session, table, batch, "parts", parts, "")


def finish(session: Session, table: str, batch: Batch) -> None:
    """The sink has all of it."""
    _note(session, table, batch, DONE)
    if batch.m % KEEP == 0:
        _tidy(session, table, batch)


def _tidy(session: Session, table: str, batch: Batch) -> None:
    """Drop batches long past and merge small files; whatever goes wrong here harms nothing."""
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
    """Up to where a sink has what the table holds now; ``row`` is the table's newest run."""
    until, current = last.until, row
    while current.generation != last.generation:
        runs = runs_of(session, state_table, current.generation)
        if runs and runs[0].n == 1:
            until = min(until, runs[0].t)
        before = runs_of(session, state_table, current.continues) if current.continues else []
        if not before:
            break
        current = before[-1]
    return until


def _note(session: Session, table: str, batch: Batch, event: str) -> None:
    """Insert a line once for each (sink, m, event); the loser of a race inserts nothing."""
    app = f"tapestry.delivery.{event}.{batch.life}"
    options = f" WITH ({properties({'txnAppId': app, 'txnVersion': batch.m})})"
    try:
        _insert(session, table, batch, event, batch.parts, options)
    except Exception as error:
        if lost_own(session, table, error):
            create_own(session, table, COLUMNS, COMMENT)
            _insert(session, table, batch, event, batch.parts, options)
        elif not lost_race(error):
            raise


def _insert(
    session: Session, table: str, batch: Batch, event: str, parts: int, options: str
) -> None:
    values: Sequence[str] = (
        string(batch.model),
        string(batch.sink),
        str(batch.m),
        string(event),
        string(batch.generation),
        timestamp(batch.after),
        timestamp(batch.until),
        str(parts),
        string(batch.life),
        string(batch.claim_id),
        "current_timestamp()",
    )
    session.run(
        f"INSERT INTO {relation_name(table)}{options} ({', '.join(COLUMNS)})"
        f" SELECT {', '.join(values)}"
    )
