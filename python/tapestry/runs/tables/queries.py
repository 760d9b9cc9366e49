"""``tapestry_queries``: the continuous models, their priorities, and which are switched off.

Runs write the project's values of a model (``id``, ``priority``), the command those of the operator
(``active``, ``why``, ``since``); neither changes the other's. No answer depends on the table:
without it every model is active, and the next invocation writes it again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from time import sleep
from typing import Any, Final

from tapestry.errors import StateUnreadable
from tapestry.instants import micros
from tapestry.names import ALL_ON_PROPERTY
from tapestry.quoting import Sql, properties, relation_name, string
from tapestry.runs.engine.errors_of_delta import files_gone, lost_race, not_found
from tapestry.runs.engine.glance import Glance
from tapestry.runs.engine.odd_rows import Fields, OddRow, read_row
from tapestry.runs.engine.own_tables import (
    AT_ONCE,
    ATTEMPTS,
    create_own,
    lost_own,
    refuse_other,
)
from tapestry.runs.engine.session import Session

COLUMNS: Mapping[str, str] = {
    "id": "string",
    "model": "string",
    "priority": "bigint",
    "active": "boolean",
    "why": "string",
    "since": "timestamp",
}
COMMENT: Final = "tapestry: the continuous models; `tapestry queries` switches them off and on"
OF_PROJECT: Final = ("id", "priority")
"""The columns that a run updates for a model that has a row already."""
ALL: Final = tuple(name for name in COLUMNS if name != "model")
LONGEST_REASON: Final = 2_000
"""Characters of a reason that are kept and shown."""


@dataclass(frozen=True)
class QueryRow:
    """One model: its table, dbt's id of it, and the values of the project and the operator.

    since
        Since when it is active, or not.
    """

    model: str
    id: str
    priority: int
    since: datetime
    active: bool = True
    why: str = ""


def read_queries(session: Session, table: str) -> dict[str, QueryRow | OddRow]:
    """Return the row of every model by its table; none where there is no ``tapestry_queries``.

    A row that our runs and commands have not written stands for its model as an `OddRow`. Raises
    StateUnreadable where the table itself is not as runs make it.
    """
    try:
        rows = session.rows(
            "SELECT id, model, priority, active, why, unix_micros(since) AS since"
            f" FROM {relation_name(table)}"
        )
    except Exception as error:
        if not_found(error) or files_gone(error):
            return {}
        refuse_other(session, table, COLUMNS)
        raise
    return queries_of(table, [dict(zip(COLUMNS, row, strict=True)) for row in rows])


def queries_of(table: str, rows: Iterable[Mapping[str, Any]]) -> dict[str, QueryRow | OddRow]:
    """Return the rows of the table by model, from their values by column."""
    found: dict[str, QueryRow | OddRow] = {}
    for values in rows:
        model = values.get("model")
        if not isinstance(model, str) or not model:
            continue  # it is about no model
        row = read_row(table, ("model",), values, _parse)
        known = found.setdefault(model, row)
        if known != row:
            found[model] = OddRow(table, (("model", model),), "there are two rows of it")
    return found


def readable_query(row: QueryRow | OddRow | None) -> QueryRow | None:
    """Return the row; raise StateUnreadable for one that our code has not written."""
    if not isinstance(row, OddRow):
        return row
    raise StateUnreadable(
        f"whether {row.named('model') or 'a model'} is switched off cannot be read: {row.reason}",
        where=row.where,
        hint="`tapestry queries --on …` or `--off …` writes the row anew",
    )


def switch(session: Session, table: str, row: QueryRow) -> None:
    """Write a model's row, whatever stands there.

    Raises StateUnreadable where the table is not as runs make it.
    """
    write_queries(session, table, [row], ALL)


def all_on(seen: Glance) -> bool:
    """Return whether the table's newest commit says that no model is switched off there."""
    return f'"{ALL_ON_PROPERTY}":"{seen.version}"' in seen.definition


def mark_all_on(session: Session, table: str) -> None:
    """Mark the table as one in which no model is switched off, where that is so.

    The mark names the version that its own commit makes: any other write, by hand too, makes a
    later one, and the table is read again. Nothing is written where the session cannot tell
    versions.
    """
    seen = session.can.glance(table)
    if seen is None or seen.version is None or all_on(seen):
        return
    rows = read_queries(session, table).values()  # of that version or of a later one
    if any(isinstance(row, OddRow) or not row.active for row in rows):
        return
    marked = properties({ALL_ON_PROPERTY: str(seen.version + 1)})
    _until_won(
        session, table, Sql(f"ALTER TABLE {relation_name(table)} SET TBLPROPERTIES ({marked})")
    )


def write_queries(
    session: Session, table: str, rows: Sequence[QueryRow], changes: Sequence[str] = OF_PROJECT
) -> None:
    """Insert the rows; for a model that has one, set the columns ``changes``.

    Another writer may come first: then it is done once more, over its rows. Raises StateUnreadable
    where the table is not as runs make it.
    """
    for start in range(0, len(rows), AT_ONCE):
        _until_won(session, table, _merge(table, rows[start : start + AT_ONCE], changes))


def _until_won(session: Session, table: str, statement: Sql) -> None:
    for attempt in range(ATTEMPTS):
        last = attempt + 1 == ATTEMPTS
        try:
            session.run(statement)
            return
        except Exception as error:
            if lost_own(session, table, error) and not last:
                create_own(session, table, COLUMNS, COMMENT)
            elif lost_race(error) and not last:
                sleep(0.2 * (attempt + 1))
            else:
                refuse_other(session, table, COLUMNS)
                raise


def _merge(table: str, rows: Sequence[QueryRow], changes: Sequence[str]) -> Sql:
    values = ", ".join(f"({', '.join(_values(row))})" for row in rows)
    listed = ", ".join(COLUMNS)
    # <=>: a NULL that somebody wrote is another value, too
    other = " OR ".join(f"NOT (q.{name} <=> w.{name})" for name in changes)
    sets = ", ".join(f"q.{name} = w.{name}" for name in changes)
    inserted = ", ".join(f"w.{name}" for name in COLUMNS)
    return Sql(
        f"MERGE INTO {relation_name(table)} AS q"
        f" USING (SELECT * FROM VALUES {values} AS v({listed})) AS w ON q.model = w.model"
        f" WHEN MATCHED AND ({other}) THEN UPDATE SET {sets}"
        f" WHEN NOT MATCHED THEN INSERT ({listed}) VALUES ({inserted})"
    )


def _values(row: QueryRow) -> tuple[str, ...]:
    return (
        string(row.id),
        string(row.model),
        f"CAST({row.priority} AS BIGINT)",
        "true" if row.active else "false",
        string(row.why),
        f"timestamp_micros({micros(row.since)})",
    )


def _parse(fields: Fields) -> QueryRow:
    return QueryRow(
        model=fields.text("model"),
        id=fields.optional_text("id") or "",
        priority=fields.whole("priority", -(2**63)),
        since=fields.instant("since"),
        active=fields.truth("active"),
        why=fields.optional_text("why", LONGEST_REASON) or "",
    )
