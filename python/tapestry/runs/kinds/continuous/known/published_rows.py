"""The answers of earlier runs: a target's rows, and those that an expectation kept out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tapestry.names import MATCHED_AT
from tapestry.quoting import identifier, identifiers, relation_name
from tapestry.runs.checks.rejected import before_run, rejected_name
from tapestry.runs.engine.column_types import columns_of_table
from tapestry.runs.engine.own_tables import exists
from tapestry.runs.engine.session import Session
from tapestry.runs.tables.state_row import StateRow
from tapestry.sql.scan import KnownAnswers


def published_rows(
    session: Session, row: StateRow, columns: Sequence[str], version: int = -1
) -> str:
    """Return these columns of the rows that runs before ``row`` published or rejected; '': none.

    ``version`` is the target's that is read, the newest one where it is -1.

    A table that lacks one of the columns was grown by another query: none of its rows has such
    values.
    """
    if row.n == 1:
        return ""
    parts = []
    for name, condition in (
        (row.model, "true"),
        (rejected_name(row.model), before_run(session, row)),
    ):
        if condition is None or not exists(session, name):
            continue
        known = {column.lower() for column, _ in columns_of_table(session, name)}
        if {column.lower() for column in columns} <= known:
            at = f" VERSION AS OF {version}" if name == row.model and version >= 0 else ""
            parts.append(
                f"SELECT {identifiers(columns)} FROM {relation_name(name)}{at} WHERE {condition}"
            )
    return f"({' UNION ALL '.join(parts)})" if parts else ""


def published_up_to(session: Session, row: StateRow, columns: Sequence[str]) -> str:
    """Return the target's rows after a run, and those that an expectation kept out of it."""
    listed_columns = identifiers([*columns, MATCHED_AT])
    parts = [f"SELECT {listed_columns} FROM {relation_name(row.model)}"]
    condition = before_run(session, replace(row, identity=replace(row.identity, n=row.n + 1)))
    if condition is not None:
        name = relation_name(rejected_name(row.model))
        parts.append(f"SELECT {listed_columns} FROM {name} WHERE {condition}")
    return f"({' UNION ALL '.join(parts)})"


def answers_of(session: Session, relation: str, columns: Sequence[str]) -> KnownAnswers:
    """Return the answers in a table, to examine a query with; none if it lacks the columns."""
    if relation and exists(session, relation):
        held = {column.lower() for column, _ in columns_of_table(session, relation)}
        if {column.lower() for column in columns} <= held:
            return KnownAnswers(relation_name(relation))
    return KnownAnswers(no_rows(columns))


def no_rows(columns: Sequence[str]) -> str:
    """Return a relation with these columns, and no row."""
    nothing = ", ".join(f"NULL AS {identifier(name)}" for name in columns)
    return f"(SELECT {nothing} WHERE false)"
