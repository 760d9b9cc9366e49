"""The table ``tapestry_firings``: for each rule, the transactions that fired it.

Its rows are heads of a queue: the rows that each firing binds stand in the tables of the rule under
the same generation and n. A row counts as those do: up to the run n that the rule's own table has
landed, but for runs that were closed without rows (semantics, section 4). ``firing`` is its number:
it grows from each firing of a rule to the next.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tapestry.quoting import identifier, relation_name, string
from tapestry.runs.engine.own_tables import OwnTable, in_schema_of, remove_rows
from tapestry.runs.engine.session import Session
from tapestry.runs.tables.claims import write_once
from tapestry.runs.tables.kept import MARKS as BESIDE_MARKS
from tapestry.runs.tables.kept import Marks
from tapestry.runs.tables.run_identity import RunIdentity
from tapestry.runs.tables.target import transaction

NAME: Final = "tapestry_firings"
COLUMNS: Final = {
    "rule": "string",
    "generation": "string",
    "n": "bigint",
    "firing": "bigint",
    "commit_version": "bigint",
    "commit_time": "timestamp",
    "depth": "bigint",
    "rows": "bigint",
}
MARKS = Marks(identifier("generation"), identifier("n"))


def firings_table(state_table: str) -> OwnTable:
    """Return the table in the schema of the state."""
    name = in_schema_of(state_table, NAME)
    return OwnTable(name, COLUMNS, "tapestry: the commits that fired each rule")


@dataclass(frozen=True)
class Firings:
    """The firings of a run of a rule.

    ``select`` gives number, version, time, depth and rows of each.
    """

    state_table: str
    select: str
    tidies: bool = False

    def write(self, session: Session, run: RunIdentity) -> None:
        """Write the firings, once for an n."""
        own = firings_table(self.state_table)
        under = transaction(f"tapestry.firings.{run.generation}", run.n)
        statement = (
            f"INSERT INTO {relation_name(own.name)} {under} ({', '.join(COLUMNS)})\n"
            f"SELECT {string(run.model)}, {string(run.generation)}, {run.n}L, *"
            f" FROM ({self.select})"
        )
        write_once(session, own, statement)


@dataclass(frozen=True)
class ClosedRows:
    """The rows of runs of a rule that were closed after they had written beside its own table.

    The state names the last closed runs, and what it does not name any more would count. So a run
    that comes after closed ones removes what they have written, before it writes its own rows.

    after
        The last run that has landed.
    tables
        The tables of the other bound rows.
    """

    state_table: str
    after: int
    tables: tuple[str, ...]
    tidies: bool = False

    def write(self, session: Session, run: RunIdentity) -> None:
        """Remove the rows of the runs between the last one that has landed and this one."""
        firings = firings_table(self.state_table).name
        for table, marks in ((firings, MARKS), *((name, BESIDE_MARKS) for name in self.tables)):
            remove_rows(session, table, marks.between(run.generation, self.after, run.n))
