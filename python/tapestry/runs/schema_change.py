"""A changed query with other columns: what ``on_schema_change`` makes of it."""

from __future__ import annotations

from collections.abc import Sequence

from tapestry.errors import QueryChanged
from tapestry.runs.model import Model
from tapestry.runs.session import Session
from tapestry.runs.sources.literals import identifier, relation_name
from tapestry.runs.spark_reads import types_of


def reconcile(
    session: Session, model: Model, query: str, columns: Sequence[str], select: str, changed: bool
) -> tuple[tuple[str, ...], tuple[str, ...], str]:
    """The columns to insert, the statements that make room for them, and the SELECT of them.

    Where the query may have ``changed`` the table is asked what it has.

    A column that the query no longer has stays in the table and is NULL from now on; nothing is
    ever taken back. The types of new ones are those of the author's ``query``: what ``select``
    reads may yet have to be written. Raises QueryChanged for a new column unless the model says
    what to do.
    """
    if not changed:
        return tuple(columns), (), select
    there = columns_of(session, model.relation)
    new = [column for column in columns if column.lower() not in there]
    gone = sorted(set(there) - {column.lower() for column in columns})
    rule = model.config.on_schema_change
    if rule == "fail" and (new or gone):
        what = [f"new columns {', '.join(new)}"] * bool(new)
        what += [f"{', '.join(gone)} no longer there"] * bool(gone)
        raise QueryChanged(
            f"the query has other columns than the table of {model.name}: {'; '.join(what)}",
            where=model.file,
            hint="on_schema_change: append_new_columns, or ignore; or run with --full-refresh",
        )
    if not new:
        return tuple(columns), (), select
    if rule == "ignore":
        kept = tuple(column for column in columns if column not in new)
        listed = ", ".join(map(identifier, kept))
        return kept, (), f"SELECT {listed} FROM (\n{select}\n)"
    types = dict(zip(columns, types_of(session, query), strict=False))
    added = ", ".join(f"{identifier(column)} {types[column]}" for column in new)
    alter = f"ALTER TABLE {relation_name(model.relation)} ADD COLUMNS ({added})"
    return tuple(columns), (alter,), select


def columns_of(session: Session, relation: str) -> dict[str, str]:
    """The columns of a table: names in lower case, and their types."""
    columns: dict[str, str] = {}
    for name, kind, *_ in session.rows(f"DESCRIBE TABLE {relation_name(relation)}"):
        if not name or str(name).startswith("#"):
            break  # partitioning and comments come after the columns
        columns[str(name).lower()] = str(kind)
    return columns
