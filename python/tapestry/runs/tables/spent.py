"""The table ``tapestry_spent``: how far each action is done with the firings of each rule.

A row says that all firings of a rule up to one were over for an action at that moment: done,
dropped, absorbed or none of its life. A row without an action says that the rows of the firings up
to that one are to be removed, or were.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from tapestry.instants import from_micros
from tapestry.quoting import relation_name, string, strings, timestamp
from tapestry.runs.engine.errors_of_delta import files_gone, not_found
from tapestry.runs.engine.own_tables import OwnTable, append_own, in_schema_of, refuse_other
from tapestry.runs.engine.session import Session

NAME: Final = "tapestry_spent"
COLUMNS: Final = {
    "rule": "string",
    "generation": "string",
    "action": "string",
    "life": "string",
    "until": "bigint",
    "at": "timestamp",
}
REMOVED: Final = ""
"""The action of a row about what is removed."""


@dataclass(frozen=True)
class SpentMark:
    """The firings of a rule's generation up to ``until`` are over, for an action in its life."""

    rule: str
    generation: str
    action: str
    life: str
    until: int
    at: datetime


def spent_table(state_table: str) -> OwnTable:
    """Return the table in the schema of the state."""
    name = in_schema_of(state_table, NAME)
    return OwnTable(name, COLUMNS, "tapestry: how far each action is done with each rule")


def removal_id(generation: str) -> str:
    """Return the name of the transactions that remove rows of a rule's own table."""
    return f"tapestry.keep.{generation}"


def spent_marks(
    session: Session, state_table: str, generations: Collection[str]
) -> list[SpentMark]:
    """Return the rows of some generations of rules; none where there is no table yet.

    Raises StateUnreadable where the table is not as runs make it.
    """
    table = spent_table(state_table)
    try:
        rows = session.rows(
            f"SELECT rule, generation, action, life, until, unix_micros(at) FROM"
            f" {relation_name(table.name)} WHERE generation IN ({strings(generations)})"
        )
    except Exception as error:
        if not_found(error) or files_gone(error):
            return []
        refuse_other(session, table.name, COLUMNS)
        raise
    return [
        SpentMark(str(rule), str(of), str(action), str(life), int(until), from_micros(int(at)))
        for rule, of, action, life, until, at in rows
    ]


def note_marks(session: Session, state_table: str, marks: Collection[SpentMark]) -> None:
    """Write these rows."""
    rows = [
        {
            "rule": string(one.rule),
            "generation": string(one.generation),
            "action": string(one.action),
            "life": string(one.life),
            "until": f"{one.until:d}L",
            "at": timestamp(one.at),
        }
        for one in marks
    ]
    append_own(session, spent_table(state_table), rows)
