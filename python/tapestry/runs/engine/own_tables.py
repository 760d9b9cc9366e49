"""Our own bookkeeping tables, made when first needed, by the first process that needs them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import sleep
from types import MappingProxyType
from typing import Any

from tapestry.errors import StateMissing, StateUnreadable
from tapestry.quoting import properties, relation_name, token
from tapestry.runs.engine.errors_of_delta import (
    already_exists,
    files_gone,
    folder_in,
    has_column,
    is_view,
    lacks_column,
    leftover,
    lost_race,
    not_found,
)
from tapestry.runs.engine.session import Session

ATTEMPTS = 6
NOTHING: Mapping[str, str] = MappingProxyType({})
AT_ONCE = 500
"""So many rows are written by one statement."""
CHECKPOINTS = 50
"""So many commits lie between two checkpoints of Delta's log.

Every run of every model commits here, and a checkpoint takes as long as several commits; a process
that is new reads the commits since the last one at once.
"""
INDEXED = 5
"""So many columns of a bookkeeping table have statistics in its log: they say whose a row is.

Delta plans an aggregate over every column with statistics at each commit, longer than it takes to
write the row.
"""
FEW_STATISTICS: Mapping[str, str] = MappingProxyType(
    {"delta.dataSkippingNumIndexedCols": str(INDEXED)}
)


def in_schema_of(table: str, name: str) -> str:
    """Return the name of another table in the schema of one.

    >>> in_schema_of("demo.tapestry_state", "other"), in_schema_of("tapestry_state", "other")
    ('demo.other', 'other')
    """
    schema, dot, _ = table.rpartition(".")
    return f"{schema}{dot}{name}"


def exists(session: Session, name: str) -> bool:
    """Return whether there is a table of that name, by one look-up in the catalog."""
    told = session.can.has_table(name)
    if told is not None:
        return told
    schema, _, table = name.rpartition(".")
    scope = f" IN {relation_name(schema)}" if schema else ""
    return bool(session.rows(f"SHOW TABLES{scope} LIKE {token(table)}"))


def create_own(
    session: Session,
    table: str,
    columns: Mapping[str, str],
    comment: str,
    named: Mapping[str, str] = NOTHING,
) -> None:
    """Make a table; of several processes that try at once one does, and the others wait for it.

    ``named`` are further properties.

    The loser's error can come before the catalog knows the winner's table: so it is tried again.
    An entry of an earlier table without its folder is removed first.
    """
    listed = ", ".join(f"{name} {kind}" for name, kind in columns.items())
    more = properties({"delta.checkpointInterval": str(CHECKPOINTS), **named})
    for attempt in range(ATTEMPTS):
        try:
            session.run(
                f"CREATE TABLE IF NOT EXISTS {relation_name(table)} ({listed}) USING delta"
                f" COMMENT {token(comment)}"
                f" TBLPROPERTIES ({more})"
            )
            if not forget_gone(session, table):
                return
        except Exception as error:
            last = attempt + 1 == ATTEMPTS
            if last and leftover(error):
                raise _unknown_folder(table, folder_in(error)) from error
            known = lost_race(error) or already_exists(error) or leftover(error)
            if not known or last:
                raise
            sleep(0.2 * (attempt + 1))


def _unknown_folder(table: str, folder: str) -> StateMissing:
    """Return the error for a folder with files that the catalog lost, or never had."""
    return StateMissing(
        f"the catalog knows no {table}, but its folder {folder} is not empty",
        hint=f"if that is the table, CREATE TABLE {relation_name(table)} USING delta LOCATION"
        f" {token(folder)}; else move it away",
    )


@dataclass(frozen=True)
class OwnTable:
    """A table of ours as this version makes it.

    columns
        Names, and types as they stand in SQL.
    added
        The columns that tables of earlier versions lack.
    """

    name: str
    columns: Mapping[str, str]
    comment: str
    added: Mapping[str, str] = field(default_factory=dict)

    def inserting(self, rows: Sequence[Mapping[str, str]], under: str = "") -> str:
        """Return an INSERT of rows, each value as SQL; ``under``: its transaction."""
        # Values of a SELECT become part of the code that Spark compiles, those of VALUES do not.
        values = ", ".join(f"({', '.join(row[name] for name in self.columns)})" for row in rows)
        listed = ", ".join(self.columns)
        into = f"{relation_name(self.name)} {under}".rstrip()
        return f"INSERT INTO {into} ({listed}) VALUES {values}"

    def write(self, session: Session, statement: str, makes: bool = True) -> None:
        """Execute an INSERT; make a missing table, add missing columns to an older one.

        ``makes``: False raises the error of a missing table.
        """
        try:
            session.run(statement)
        except Exception as error:
            if lost_own(session, self.name, error):
                if not makes:
                    raise
                create_own(session, self.name, self.columns, self.comment, FEW_STATISTICS)
            elif self.added and lacks_column(error):
                widen_own(session, self.name, self.added)
            else:
                raise
            session.run(statement)


def append_own(session: Session, table: OwnTable, rows: Sequence[Mapping[str, str]]) -> None:
    """Append rows, each value as SQL, many at once."""
    for start in range(0, len(rows), AT_ONCE):
        table.write(session, table.inserting(rows[start : start + AT_ONCE]))


def remove_rows(session: Session, table: str, gone: str) -> None:
    """Delete the rows of a table for which a condition holds.

    Does nothing if another run commits in between: that one deletes them, or the next one will.
    """
    try:
        session.run(f"DELETE FROM {relation_name(table)} WHERE {gone}")
    except Exception as error:
        if not lost_race(error):
            raise


def forget_gone(session: Session, table: str) -> bool:
    """Remove a table whose folder was deleted from the catalog; return whether it was there.

    Its entry would prevent a new table, and has nothing else to lose.
    """
    gone = _gone(session, table)
    if gone:
        session.run(f"DROP TABLE IF EXISTS {relation_name(table)}")
    return gone


def lost_own(session: Session, table: str, error: BaseException) -> bool:
    """Return whether an INSERT failed for lack of the table, or of its folder (no columns)."""
    return not_found(error) or (lacks_column(error) and _gone(session, table))


def _gone(session: Session, table: str) -> bool:
    try:
        session.rows(f"DESCRIBE TABLE {relation_name(table)}")
    except Exception as error:
        return files_gone(error)
    return False


def refuse_other(session: Session, table: str, columns: Mapping[str, str]) -> None:
    """Raise StateUnreadable if a statement failed because a table is not as runs make it.

    Called after a statement about a table of ours has failed.
    """
    try:
        described = session.rows(f"DESCRIBE TABLE {relation_name(table)}")
        there = {str(row[0]).lower(): str(row[1]).lower() for row in described}
        odd = [
            f"has no column {name}" if name not in there else f"has a {name} of {there[name]}"
            for name, kind in columns.items()
            if there.get(name) != kind
        ]
        if not odd:
            ((kind, *_),) = session.rows(f"DESCRIBE DETAIL {relation_name(table)}")
            odd = [f"is a {kind} table"] * (str(kind).lower() != "delta")
    except Exception as other:
        odd = ["is a view"] * is_view(other)
    if not odd:
        return
    raise StateUnreadable(
        f"{table} is not the table that runs made: it {odd[0]}",
        hint="take what lies there out of the way, or bring the table back as it was (its DESCRIBE"
        " HISTORY tells who changed it; RESTORE TABLE … TO VERSION AS OF … brings it back)",
    )


def widen_own(session: Session, table: str, columns: Mapping[str, str]) -> None:
    """Add the columns that a table of an older version lacks; another process may do it too."""
    described = session.rows(f"DESCRIBE TABLE {relation_name(table)}")
    there = {str(row[0]).lower() for row in described}
    missing = [f"{name} {kind}" for name, kind in columns.items() if name not in there]
    if not missing:
        return
    try:
        session.run(f"ALTER TABLE {relation_name(table)} ADD COLUMNS ({', '.join(missing)})")
    except Exception as error:
        if not lost_race(error) and not has_column(error):
            raise


def widened_rows(
    session: Session, table: str, sql: str, columns: Mapping[str, str]
) -> list[tuple[Any, ...]]:
    """Return the rows of a query; add the columns that an earlier version's table lacks."""
    try:
        return session.rows(sql)
    except Exception as error:
        if not lacks_column(error):
            raise
        widen_own(session, table, columns)
        return session.rows(sql)
