"""The table ``tapestry_writers``: which tables each action writes, and how its batches are made.

An action that writes a derived table notes it when it runs: the comparison of the table with its
query needs to know its actions. The newest row of an action is in force.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from tapestry.quoting import relation_name, string, timestamp
from tapestry.runs.engine.errors_of_delta import files_gone, not_found
from tapestry.runs.engine.own_tables import OwnTable, in_schema_of, refuse_other
from tapestry.runs.engine.session import Session

NAME: Final = "tapestry_writers"
COLUMNS: Final = {
    "action": "string",
    "writes": "string",
    "rules": "string",
    "batches": "string",
    "unique_on": "string",
    "reads": "string",
    "at": "timestamp",
}
BY_FIRING, BY_ACTION, BY_COLUMNS = "firing", "all", "columns"
"""A batch has one firing, all firings that wait, or the rows with the same values in columns."""
ANYTHING: Final = "*"
"""Nobody knows what is read: a function in Python asks what it likes."""
ONE_KEY: Final = "[]"
"""The key of the one batch of all firings."""


@dataclass(frozen=True)
class Writer:
    """An action, and the tables that it writes.

    batches
        ``BY_FIRING``, ``BY_ACTION`` or ``BY_COLUMNS``, and then by those of ``unique_on``.
    reads
        Other tables that its statements read as they are at that moment, or ``ANYTHING``.
    """

    action: str
    writes: tuple[str, ...]
    rules: tuple[str, ...]
    batches: str = BY_FIRING
    unique_on: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()


def writers_table(state_table: str) -> OwnTable:
    """Return the table in the schema of the state."""
    name = in_schema_of(state_table, NAME)
    return OwnTable(name, COLUMNS, "tapestry: which tables each action writes")


def note_writer(session: Session, state_table: str, writer: Writer, now: datetime) -> None:
    """Write a row for an action where its newest row differs."""
    table = writers_table(state_table)
    if writer in _newest(session, table, writer.action):
        return
    values = {
        "action": string(writer.action),
        "writes": string(json.dumps(writer.writes)),
        "rules": string(json.dumps(writer.rules)),
        "batches": string(writer.batches),
        "unique_on": string(json.dumps(writer.unique_on)),
        "reads": string(json.dumps(writer.reads)),
        "at": timestamp(now),
    }
    table.write(session, table.inserting([values]))


def writers_of(session: Session, state_table: str, written: str) -> list[Writer]:
    """Return the actions that write a table, by the notes of their last runs."""
    found = _newest(session, writers_table(state_table))
    return [one for one in found if written in one.writes]


def _newest(session: Session, table: OwnTable, action: str = "") -> list[Writer]:
    where = f" WHERE action = {string(action)}" if action else ""
    listed = ", ".join(name for name in COLUMNS if name != "at")
    newest = "row_number() OVER (PARTITION BY action ORDER BY at DESC) AS _newest"
    try:
        rows = session.rows(
            f"SELECT {listed} FROM (SELECT *, {newest} FROM {relation_name(table.name)}{where})"
            " WHERE _newest = 1"
        )
    except Exception as error:
        if not_found(error) or files_gone(error):
            return []
        refuse_other(session, table.name, COLUMNS)
        raise
    return [_writer(row) for row in rows]


def _writer(row: tuple[Any, ...]) -> Writer:
    action, writes, rules, batches, unique_on, reads = row
    return Writer(
        str(action), tuple(json.loads(writes)), tuple(json.loads(rules)), str(batches),
        tuple(json.loads(unique_on)), tuple(json.loads(reads)),
    )  # fmt: skip
