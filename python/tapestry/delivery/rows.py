"""Reads the new answers since a cursor from the model's table as JSON, always in one order.

The engine writes the JSON: it knows the types, and instants come in UTC whatever the session's
zone. The order (first instant, then text) is that of every repetition, so that parts of a batch
that were sent are not sent again.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tapestry.instants import from_micros
from tapestry.names import MATCHED_AT
from tapestry.quoting import identifier, relation_name, timestamp
from tapestry.runs.engine.column_types import Columns
from tapestry.runs.engine.session import Session

BATCH_ROWS = 10_000
"""A batch ends where it has so many rows, ties included: it is held in memory."""
_OPTIONS = (
    "map('ignoreNullFields', 'false', 'timeZone', 'UTC',"
    " 'timestampFormat', 'yyyy-MM-dd\\'T\\'HH:mm:ss.SSSSSSXXX',"
    " 'timestampNTZFormat', 'yyyy-MM-dd\\'T\\'HH:mm:ss.SSSSSS')"
)


@dataclass(frozen=True)
class AnswersToSend:
    """The answers of a table whose first instant lies in (after, until]."""

    relation: str
    columns: Columns
    """``_matched_at`` among them."""
    after: datetime
    until: datetime

    @property
    def condition(self) -> str:
        """The interval as SQL; file statistics exclude what lies outside."""
        column = identifier(MATCHED_AT)
        return f"{column} > {timestamp(self.after)} AND {column} <= {timestamp(self.until)}"

    @property
    def names(self) -> str:
        """The columns as SQL."""
        return ", ".join(identifier(name) for name, _ in self.columns)

    @property
    def select(self) -> str:
        """A query for the answers."""
        return f"SELECT {self.names} FROM {relation_name(self.relation)} WHERE {self.condition}"


def end_of_batch(
    session: Session, answers: AnswersToSend, limit: int = BATCH_ROWS
) -> datetime | None:
    """Return the end of a batch from ``answers.after`` on; None without answers.

    Answers of one instant are never separated.
    """
    column, table = identifier(MATCHED_AT), relation_name(answers.relation)
    first = (
        f"SELECT {column} FROM {table} WHERE {answers.condition} ORDER BY {column} LIMIT {limit}"
    )
    ((count, last),) = session.rows(f"SELECT count(*), unix_micros(max({column})) FROM ({first})")
    if not int(count):
        return None
    return answers.until if int(count) < limit else from_micros(int(last))


def read_json(session: Session, answers: AnswersToSend) -> list[str]:
    """The answers as JSON objects, one text each, by first instant and text."""
    text = f"to_json(struct({answers.names}), {_OPTIONS})"
    rows = session.rows(
        f"SELECT {text} AS _json FROM {relation_name(answers.relation)}"
        f" WHERE {answers.condition} ORDER BY {identifier(MATCHED_AT)}, _json"
    )
    return [str(row[0]) for row in rows]
