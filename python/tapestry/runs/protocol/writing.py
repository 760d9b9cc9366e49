"""The statements that write a target: each commits once, under a transaction or with the table.

Semantics, section 4. A creation is one statement that writes the rows and the generation. An append
is one INSERT under Delta's transaction (generation, n), given as write options of that statement:
session settings would hit every other statement of the session, and of the threads that share it.
Delta skips a transaction that has landed without saying so, so the history is asked afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from tapestry.names import GENERATION_PROPERTY, KIND_PROPERTY, STATE_PROPERTY
from tapestry.quoting import identifier, properties, relation_name
from tapestry.runs.engine.instants import show
from tapestry.runs.model.model import Model
from tapestry.runs.tables.noted_runs import written_in_note
from tapestry.runs.tables.state_row import StateRow
from tapestry.runs.tables.target import CLOSED, metadata, transaction

CREATE = "CREATE TABLE"
REPLACE = "CREATE OR REPLACE TABLE"


class Writing(Protocol):
    """The way in which a kind of model writes rows into its table: in one statement."""

    @property
    def action(self) -> str:
        """The way of writing: create | append | replace | overwrite."""

    @property
    def replaces(self) -> bool:
        """Whether the rows of an existing table are replaced."""

    @property
    def rests_on_table(self) -> bool:
        """Whether its rows are made from the table's: then they are staged before they are written.

        An INSERT OVERWRITE that reads its own target silently loses its options (Delta 4.3): it
        replaces the whole table, under no transaction.
        """

    def statement(self, select: str, attempt: str = "") -> str:
        """Return the statement that commits the rows of ``select``, of this ``attempt``."""


@dataclass(frozen=True)
class Creation:
    """The table is made, or made anew, with its rows.

    state_table
        The table by which a creation finds the owner of a table in its folder.
    """

    action: ClassVar[str] = "create"
    rests_on_table: ClassVar[bool] = False

    model: Model
    generation: str
    replaces: bool
    state_table: str

    def statement(self, select: str, attempt: str = "") -> str:
        """Return a CREATE [OR REPLACE] TABLE … AS; it has no place for ``attempt``."""
        return create_sql(self.model, self.generation, select, self.replaces, self.state_table)


@dataclass(frozen=True)
class Appending:
    """The rows are added under the transaction (generation, n) of the run."""

    action: ClassVar[str] = "append"
    replaces: ClassVar[bool] = False
    rests_on_table: ClassVar[bool] = False

    row: StateRow
    columns: tuple[str, ...]

    def statement(self, select: str, attempt: str = "") -> str:
        """Return an INSERT INTO."""
        return append_sql(self.row, self.columns, select, attempt)


@dataclass(frozen=True)
class Overwriting(Appending):
    """The rows replace all that are there, under the same transaction."""

    action: ClassVar[str] = "overwrite"

    def statement(self, select: str, attempt: str = "") -> str:
        """Return an INSERT OVERWRITE."""
        return append_sql(self.row, self.columns, select, attempt, instead_of="true")


@dataclass(frozen=True)
class Replacing(Appending):
    """The rows replace those for which ``instead_of`` holds.

    It holds for each of the new rows, too.
    """

    action: ClassVar[str] = "replace"

    instead_of: str = "true"

    def statement(self, select: str, attempt: str = "") -> str:
        """Return an INSERT OVERWRITE of a part of the table."""
        return append_sql(self.row, self.columns, select, attempt, instead_of=self.instead_of)


@dataclass(frozen=True)
class Remaking(Replacing):
    """The rows, made from those of the table, replace those for which ``instead_of`` holds."""

    rests_on_table: ClassVar[bool] = True


def create_sql(
    model: Model, generation: str, select: str, replace: bool, state_table: str = ""
) -> str:
    """Return the statement that makes the target with rows, generation and state's place."""
    listed = {
        **model.properties,
        GENERATION_PROPERTY: generation,
        KIND_PROPERTY: model.materialized,
    }
    if state_table:
        listed[STATE_PROPERTY] = state_table
    return (
        f"{REPLACE if replace else CREATE} {relation_name(model.relation)} USING delta"
        f" TBLPROPERTIES ({properties(listed)}) {model.options} AS\n{select}"
    )


def append_sql(
    row: StateRow, columns: Sequence[str], select: str, attempt: str = "", instead_of: str = ""
) -> str:
    """Return an INSERT under the transaction (generation, n), with the run's name in the commit.

    ``instead_of``: the new rows replace the rows for which this condition holds, whatever the
    session's setting for partitions is.
    """
    more: dict[str, object] = {"tau": show(row.since), "t": show(row.after.t)}
    state = written_in_note(row)
    if state is not None:
        more["state"] = state
    if attempt:
        more["attempt"] = attempt
    said, options = metadata(row.generation, row.n, row.run_id, more), {}
    if instead_of:
        options["replaceWhere"] = instead_of
    under = transaction(row.generation, row.n, said, **options)
    insert = "INSERT OVERWRITE" if instead_of else "INSERT INTO"
    names = ", ".join(identifier(column) for column in columns)
    return f"{insert} {relation_name(row.model)} {under} ({names})\n{select}"


def failed_sql(row: StateRow, columns: int) -> str:
    """Return an empty commit under (generation, n): it closes the run that failed its checks."""
    said = metadata(row.generation, row.n, row.run_id, {"failed": True})
    return _nothing(row.model, columns, transaction(row.generation, row.n, said))


def closing_sql(name: str, columns: int, generation: str, run_id: str, under: str = "") -> str:
    """Return an empty commit under the last n of a generation, before the table is built again.

    ``under`` names other transactions of the generation, which are numbered as well.

    An append of that generation that was planned before would else land in the new table, under a
    transaction that nobody has used there. Now it lands before, conflicts, or is skipped.  The
    empty rows must not come from the table itself: an empty INSERT that reads its own target leaves
    no commit and no transaction (Delta 4.3).
    """
    said = metadata(generation, CLOSED, run_id, {})
    return _nothing(name, columns, transaction(under or generation, CLOSED, said))


def rewind_sql(row: StateRow, columns: int, forgotten: str) -> str:
    """Return one commit that forgets rows (``forgotten``) and closes the generation before.

    It is run 1 of the new generation, under the last transaction of the old one: so it lands once,
    and no append of the old generation lands after it. The table keeps its files, properties and
    constraints.

    The condition is an option that Delta reads as text: the literal names its offset. REPLACE
    WHERE goes through a filter of Spark's that Delta prints in the session's zone, without one: in
    the hour that comes twice there (01:30 UTC on the last Sunday of October in Berlin) it forgets
    an hour too much.
    """
    more = {"successor": row.generation, "t": show(row.after.t)}
    said = metadata(row.continues, CLOSED, row.run_id, more)
    under = transaction(row.continues, CLOSED, said, replaceWhere=forgotten)
    nothing = f"SELECT {', '.join(['NULL'] * columns)} FROM range(0)"
    return f"INSERT OVERWRITE {relation_name(row.model)} {under} {nothing}"


def name_generation_sql(name: str, generation: str, kind: str = "", state_table: str = "") -> str:
    """Return the statement that names the generation of an existing table.

    ``kind``, ``state_table``: the kind of its model and the place of its state, if it lacks them.
    """
    listed = {GENERATION_PROPERTY: generation, KIND_PROPERTY: kind, STATE_PROPERTY: state_table}
    named = properties({key: value for key, value in listed.items() if value})
    return f"ALTER TABLE {relation_name(name)} SET TBLPROPERTIES ({named})"


def _nothing(name: str, columns: int, under: str) -> str:
    nothing = f"SELECT {', '.join(['NULL'] * columns)} FROM range(0)"
    return f"INSERT INTO {relation_name(name)} {under} {nothing}"
