"""Handles columns that the table lacks, or has with other types.

``on_schema_change`` says what a changed query does to the columns. A type may change though the
query stays: with that of a source.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tapestry.errors import QueryChanged
from tapestry.names import MATCHED_AT
from tapestry.quoting import identifier, relation_name
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.column_types import (
    ColumnType,
    columns_of_table,
    quoted,
    read_kind,
    sql_type,
)
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.continuous.config import ContinuousConfig
from tapestry.runs.kinds.continuous.other_columns import DO, OtherColumns
from tapestry.runs.kinds.continuous.query import Query
from tapestry.runs.model.model import Model
from tapestry.runs.query.spark_reads import types_of
from tapestry.runs.tables.state_row import StateRow
from tapestry.sql.facts.common_types import common_type

_IN_DOUBLE = frozenset({"tinyint", "smallint", "int", "float"})
"""The types whose values a DOUBLE represents exactly."""
_WIDE = frozenset({"smallint", "int", "bigint", "double"})
"""The types to which Delta widens numbers, in addition to DECIMAL."""


def reconcile(
    session: Session,
    model: Model,
    invocation: Invocation,
    query: Query,
    row: StateRow,
    changed: bool,
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the columns to insert, and the statements that make room for them.

    The table is described where the query may have ``changed``, and once a process: an earlier run
    may have left columns out.

    A column that the query no longer has stays in the table and is NULL from now on; columns are
    never dropped. The types of new ones are those of the author's ``query``: tables that the run
    itself reads may yet have to be written. Raises QueryChanged for a new column unless the model
    says what to do.
    """
    config: ContinuousConfig = model.config.own
    columns = (*query.rewriting.columns, MATCHED_AT)
    key = ("columns", row.generation, query.canonical)
    if not changed and invocation.recall.analysed(key):
        return columns, ()
    there = types_by_name(session, model.relation)
    new = [column for column in columns if column.lower() not in there]
    gone = sorted(set(there) - {column.lower() for column in columns})
    rule = config.on_schema_change
    found = OtherColumns(tuple(new), tuple(gone))
    if rule == "fail" and (new or (gone and changed)):
        raise QueryChanged(
            f"the query has other columns than the table of {model.name}: {found.told}",
            where=model.file,
            hint=DO,
        )
    if not new:
        invocation.recall.note_analysed(key)
        return columns, ()
    if rule == "ignore":
        return tuple(column for column in columns if column not in new), ()
    types = dict(zip(columns, types_of(session, query.sql), strict=False))
    added = ", ".join(f"{identifier(column)} {sql_type(types[column])}" for column in new)
    alter = f"ALTER TABLE {relation_name(model.relation)} ADD COLUMNS ({added})"
    return columns, (alter,)


def refuse_narrower(
    session: Session, model: Model, invocation: Invocation, query: Query, generation: str
) -> None:
    """Raise QueryChanged where the table's columns do not hold the query's values.

    Spark would cast: it silently rounds 1.5 to an INT, and the checks are made on the query's
    values. Reads no data; a process checks once for each query over sources of the same types.
    """
    tables = query.relations.tables
    read = tuple((name, tables[name].table.columns) for name in query.rewriting.sources)
    key = ("types", generation, query.canonical, read)  # a view may change beneath the text
    if invocation.recall.analysed(key):
        return
    there = types_by_name(session, model.relation)
    types = types_of(session, query.sql)
    for column, now in zip(query.rewriting.columns, types, strict=True):
        known = there.get(column.lower())
        if known is not None and not holds(known, now):
            raise _narrower(model, column, known, now)
    invocation.recall.note_analysed(key)


def _narrower(model: Model, column: str, known: str, now: str) -> QueryChanged:
    """Return the error; its hint is to widen the table, where Delta can: that loses nothing."""
    table = relation_name(model.relation)
    parts = _parts(quoted(column), read_kind(known), read_kind(now))
    failing = [part for part in parts if not _leaf_holds(*part[1:])]
    name, before, after = failing[0] if len(failing) == 1 else (quoted(column), known, now)
    widen = ""
    if all(widens(before, after) for _, before, after in failing):
        # sql: only shown, to people
        steps = [f"ALTER COLUMN {name} TYPE {after}" for name, _, after in failing]
        altered = ", then ".join(f"ALTER TABLE {table} {one}" for one in steps)
        widen = (
            f"; or widen the table: ALTER TABLE {table} SET TBLPROPERTIES"
            f" ('delta.enableTypeWidening' = 'true'), then {altered}"
        )
    return QueryChanged(
        f"{name} is {after} in the query now, but {before} in the table of {model.name}",
        where=model.file,
        hint=f"write CAST(… AS {known}) AS {quoted(column)}{widen}; or run with --full-refresh",
    )


def holds(there: str, now: str) -> bool:
    """Return whether a column of the type ``there`` holds every value of ``now``, unchanged.

    Fields of structs are matched by their place, as an INSERT casts them, but under other names
    they are other fields.

    >>> holds("bigint", "int"), holds("int", "bigint"), holds("double", "bigint")
    (True, False, False)
    """
    return all(_leaf_holds(*part[1:]) for part in _parts("", read_kind(there), read_kind(now)))


def _parts(path: str, there: ColumnType, now: ColumnType) -> Iterator[tuple[str, str, str]]:
    """Yield the parts of two types: the path, the type there, and the type now.

    Types of different structure are yielded as they are.
    """
    names = [[name.lower() for name, _ in kind.parts] for kind in (there, now)]
    if not there.parts or there.name != now.name or names[0] != names[1]:
        yield path, str(there), str(now)
        return
    for (name, one), (_, other) in zip(there.parts, now.parts, strict=True):
        yield from _parts(f"{path}.{quoted(name)}", one, other)


def _leaf_holds(there: str, now: str) -> bool:
    there, now = (_as_stored(kind) for kind in (there, now))
    if there == "double":
        return now in _IN_DOUBLE or now == there
    if there == "timestamp":
        return now in (there, "date")
    return there == now or common_type(there, now) == there


def widens(known: str, now: str) -> bool:
    """Return whether Delta can change one type of a column to the other.

    A number to one that holds it; a DECIMAL must have ten digits before the point.
    """
    if known in ("tinyint", "smallint") and now.startswith("decimal"):
        known = "int"
    return holds(now, known) and (now in _WIDE or now.startswith("decimal"))


def same_type(one: str, other: str) -> bool:
    """Return whether two texts name one type of a column."""
    return _as_stored(one) == _as_stored(other)


def _as_stored(kind: str) -> str:
    """Return a type with all texts as one: the table itself refuses texts that are too long."""
    plain = re.sub(r"\b(var)?char\(\d+\)", "string", kind.lower())
    return re.sub(r" collate \w+", "", plain).replace(", ", ",")


def types_by_name(session: Session, relation: str) -> dict[str, str]:
    """Return the types of a table's columns by their names in lower case."""
    return {name.lower(): kind for name, kind in columns_of_table(session, relation)}
