"""A kept table, ``<target>__<suffix>``: rows beside a target that belong to its runs.

Every row bears the generation and the number n of the run that wrote it (`Marks`). It counts for
the runs after that one, and for no other: rows of another generation, of an n at or above the
asking run's, and of a run that was closed without rows do not exist (semantics, section 4). So a
run that crashed leaves no trace; `tidy` only frees the space.

The rows of one run are one INSERT under the Delta transaction (suffix and generation, n) of the
table, so that they land once, however often n is executed: a statement that selects the same
rows for the same n is all that it takes. It must not read the table as it is: of an INSERT
that reads its own table Delta 4.3 forgets the transaction. `KeptTable.now` reads a version of it.
`tidy` never removes the rows of an n that may be executed again: Delta would skip them then.

How a kind of rows gets its table: make one `KeptTable` for it; list its rows for a run as
`KeptRows` in ``Planned.beside`` (they are written after the claim and after ``before``, and
before the new rows are computed), and its suffix in ``StateRow.beside`` if no run may go on without
it; read them by `KeptTable.in_force`; and add the table to
``beside_target.TABLES``, by which a full refresh, a closed run and a rewind know of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import sleep
from typing import Protocol

from tapestry.errors import ConfigurationError, StateMissing
from tapestry.names import SIDE_PROPERTY
from tapestry.quoting import Sql, identifier, identifiers, relation_name, string, token
from tapestry.runs.engine.errors_of_delta import files_gone, lost_race
from tapestry.runs.engine.own_tables import create_own, exists, remove_rows
from tapestry.runs.engine.session import Session
from tapestry.runs.tables.run_identity import RunIdentity
from tapestry.runs.tables.state_row import StateRow
from tapestry.runs.tables.target import folder_gone, metadata, newest_commits, transaction

GENERATION, NUMBER = "_generation", "_n"
"""The columns that identify the run of a row, before the columns of its kind."""
ATTEMPTS = 6


@dataclass(frozen=True)
class Marks:
    """The columns, as SQL, that tell to which run a row belongs: its generation and its n."""

    generation: Sql
    number: Sql

    def counts(self, generation: str, n: int, failed: Sequence[int] = (), own: bool = False) -> Sql:
        """Return the condition that a row counts for run n of a generation.

        ``failed`` are runs that were closed without rows; ``own``: rows of run n count, too.
        """
        earlier = f"{self.number} {'<=' if own else '<'} {n:d}"
        if failed:
            earlier += f" AND {self.number} NOT IN ({_listed(failed)})"
        return Sql(f"{self.generation} = {string(generation)} AND {earlier}")

    def between(self, generation: str, after: int, n: int) -> Sql:
        """Return the condition that a row is of a run of a generation after one and before n."""
        of_runs = f"{self.number} > {after:d} AND {self.number} < {n:d}"
        return Sql(f"{self.generation} = {string(generation)} AND {of_runs}")

    def gone(self, generation: str, n: int, failed: Sequence[int] = (), since: int = 0) -> Sql:
        """Return the condition that a row can never count again once run n of a generation is over.

        It is about rows of this generation; with ``since``, also about those of runs before that
        one. Simple comparisons, so that file statistics tell that there is nothing to remove.
        """
        gone = f"{self.number} > {n:d}"
        if since:
            gone += f" OR {self.number} < {since:d}"
        if failed:
            gone += f" OR {self.number} IN ({_listed(failed)})"
        return Sql(f"{self.generation} = {string(generation)} AND ({gone})")

    def of_others(self, generation: str) -> Sql:
        """Return the condition that a row is of another generation."""
        return Sql(f"{self.generation} <> {string(generation)}")


MARKS = Marks(identifier(GENERATION), identifier(NUMBER))


def kept_name(target: str, ending: str) -> str:
    """Return the name of a kept table of a target.

    >>> kept_name("`db`.`counts`", "__known")
    'db.counts__known'
    """
    return f"{target.replace('`', '')}{ending}"


def property_of(session: Session, table: str, name: str) -> str:
    """Return a property of a table, or the text that it does not have it.

    Raises TargetChanged where only the catalog knows the table.
    """
    try:
        ((_, value),) = session.rows(f"SHOW TBLPROPERTIES {relation_name(table)} ({token(name)})")
    except Exception as error:
        if not files_gone(error):
            raise
        raise folder_gone(table, "") from error
    return str(value)


@dataclass(frozen=True)
class KeptTable:
    """A kind of rows beside a target.

    suffix
        The end of its name, after two underscores.
    comment
        Its comment in the catalog.
    columns
        The columns of its rows: names, and types as they stand in SQL. Where they differ from model
        to model this is the one of a model; `tidy` and `carry_over` do not use them.
    """

    suffix: str
    comment: str
    columns: Mapping[str, str] = field(default_factory=dict)

    def table_of(self, target: str) -> str:
        """Return the name of the target's kept table (`kept_name`)."""
        return kept_name(target, f"__{self.suffix}")

    def there(self, session: Session, target: str) -> bool:
        """Return whether the target has it: two look-ups where it does, else one.

        Raises ConfigurationError where somebody else's table has the name, TargetChanged where
        only the catalog knows it.
        """
        name = self.table_of(target)
        if not exists(session, name):
            return False
        if property_of(session, name, SIDE_PROPERTY) != self.suffix:
            raise ConfigurationError(
                f"{name} is somebody else's table; runs of {target} keep rows there",
                hint="rename one of the two",
            )
        return True

    def find(self, session: Session, row: StateRow) -> bool:
        """Return whether the target has it, without a look-up where no run has written to it.

        Raises StateMissing where it is gone though a run needs it (``StateRow.beside``).
        """
        if self.suffix not in row.beside:
            return False
        if self.there(session, row.model):
            return True
        raise StateMissing(
            f"{self.table_of(row.model)} is gone; runs of {row.model} need what it says",
            hint="bring it back (restore it, or copy it along with its model), or run with"
            " --full-refresh",
        )

    def in_force(self, row: StateRow, own: bool = False, since: int = 0, version: int = -1) -> str:
        """Return a relation of the rows that count for a run; with ``own``, its own rows, too.

        ``since`` leaves out rows of runs before that one; ``version`` is the table's that is read,
        the newest one where it is -1. The table has to exist.
        """
        counts: str = MARKS.counts(row.generation, row.n, row.failed, own)
        if since:
            counts += f" AND {identifier(NUMBER)} >= {since:d}"
        at = f" VERSION AS OF {version:d}" if version >= 0 else ""
        table = f"{relation_name(self.table_of(row.model))}{at}"
        return f"(SELECT {identifiers(self.columns)} FROM {table} WHERE {counts})"

    def now(self, session: Session, target: str) -> str:
        """Return its present version for FROM, in a statement that writes to the table.

        The table has to exist.
        """
        name = self.table_of(target)
        version = newest_commits(session, name, 1)[0].version
        return f"{relation_name(name)} VERSION AS OF {version}"

    def write(self, session: Session, run: RunIdentity, select: str) -> None:
        """Add the rows of a run, once; ``select`` gives the columns by their order.

        The table is made where there is none. Another execution of the run may do the same at the
        same time, and somebody may tidy up: a statement that lost a race is tried again, and then
        skipped if it has landed.
        """
        if not self.there(session, run.model):
            self._make(session, run.model)
        written = f"SELECT {string(run.generation)}, {run.n}L, * FROM (\n{select}\n)"
        self._insert(session, run, list(self.columns), written)

    def tidy(
        self, session: Session, row: StateRow, n: int, since: int = 0, made: bool = False
    ) -> None:
        """Remove rows that can never count again once run ``n`` of the row's generation is over.

        With ``since``, also those of runs before that one. ``made``: the generation has just taken
        the place of the one before, so that rows of all others go as well. Later on they stay: a
        refresh may be writing some, which count once it has landed.
        """
        if not self.there(session, row.model):
            return
        gone: str = MARKS.gone(row.generation, n, row.failed, since)
        if made:
            gone = f"{MARKS.of_others(row.generation)} OR {gone}"
        remove_rows(session, self.table_of(row.model), gone)

    def carry_over(
        self,
        session: Session,
        row: StateRow,
        newest: StateRow,
        only: str = "true",
        more: str = "",
    ) -> None:
        """Copy the rows that count after ``newest`` to ``row``, run 1 of another generation.

        They count once the rewind to ``row`` has landed. ``more`` is a SELECT of others that are
        not written yet; ``only`` is a condition over the columns.
        """
        there = self.there(session, row.model)
        if not there and not more:
            return
        if not there:
            self._make(session, row.model)
        name = self.table_of(row.model)
        described = session.rows(f"DESCRIBE TABLE {relation_name(name)}")
        kept = [str(c) for c, *_ in described if c not in (GENERATION, NUMBER)]
        counts = MARKS.counts(newest.generation, newest.n, newest.failed, own=True)
        rows = f"SELECT {identifiers(kept)} FROM {self.now(session, row.model)} WHERE {counts}"
        if more:
            rows += f" UNION ALL SELECT {identifiers(kept)} FROM (\n{more}\n)"
        written = f"SELECT {string(row.generation)}, {row.n}L, * FROM ({rows}) WHERE {only}"
        self._insert(session, row.identity, kept, written)

    def _make(self, session: Session, target: str) -> None:
        named = {SIDE_PROPERTY: self.suffix}
        own = {GENERATION: "string", NUMBER: "bigint", **self.columns}
        columns: dict[str, str] = {identifier(name): kind for name, kind in own.items()}
        create_own(session, self.table_of(target), columns, self.comment, named)

    def _insert(
        self, session: Session, run: RunIdentity, columns: Sequence[str], select: str
    ) -> None:
        app = f"tapestry.{self.suffix}.{run.generation}"
        said = metadata(run.generation, run.n, run.run_id, {})
        statement = (
            f"INSERT INTO {relation_name(self.table_of(run.model))} {transaction(app, run.n, said)}"
            f" ({identifiers([GENERATION, NUMBER, *columns])})\n{select}"
        )
        for attempt in range(ATTEMPTS):
            try:
                session.run(statement)
                return
            except Exception as error:
                if not lost_race(error) or attempt + 1 == ATTEMPTS:
                    raise
                sleep(0.2 * (attempt + 1))


class WrittenBeside(Protocol):
    """Rows that a run writes once, before those of its target."""

    @property
    def tidies(self) -> bool:
        """Whether rows that no longer count are removed when the run has landed."""

    def write(self, session: Session, run: RunIdentity) -> None:
        """Write the rows once, however often the run is executed."""


@dataclass(frozen=True)
class KeptRows:
    """The rows that a run writes into a kept table before its new rows are computed."""

    table: KeptTable
    select: str
    tidies: bool = True
    """True if rows that no longer count are removed when the run has landed."""

    def write(self, session: Session, run: RunIdentity) -> None:
        """Write the rows (``KeptTable.write``)."""
        self.table.write(session, run, self.select)


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(str(int(number)) for number in numbers)
