"""Claims: a row under (key, number) of a table of ours, which one process wins.

The row is one INSERT under the Delta transaction (key, number) of its table, so that only one row
can ever stand for the two, whoever else tries at the same time. Delta silently skips the loser's:
so the row is read back to find the winner.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tapestry.quoting import relation_name
from tapestry.runs.engine.errors_of_delta import lost_race
from tapestry.runs.engine.own_tables import OwnTable, refuse_other
from tapestry.runs.engine.session import Session
from tapestry.runs.tables.target import newest_commits, transaction

BESIDE = 8
"""So many claims of other threads may have come after one that is looked for in the log."""


@dataclass(frozen=True)
class Claim:
    """A row that stands once for (``key``, ``number``).

    key
        The name of the transaction; a new one where the numbers begin anew.
    values
        The row: each value as SQL, by column.
    said
        The note of its commit; "" for none.
    """

    table: OwnTable
    key: str
    number: int
    values: Mapping[str, str]
    said: str = ""

    @property
    def statement(self) -> str:
        """Return the INSERT of the row."""
        return self.table.inserting([self.values], transaction(self.key, self.number, self.said))


@dataclass(frozen=True)
class Claimant:
    """The value of the claiming process in ``column``; ``by`` has the columns of the claim."""

    column: str
    name: str
    by: tuple[str, ...]


def put_once(session: Session, claim: Claim, makes: bool = True) -> None:
    """Insert the row where none stands for its number; ``makes`` as in `OwnTable.write`.

    Raises StateUnreadable where the table is not as this version makes it.
    """
    write_once(session, claim.table, claim.statement, makes)


def write_once(session: Session, table: OwnTable, statement: str, makes: bool = True) -> None:
    """Execute an INSERT under a transaction of its own; a lost race has inserted nothing.

    Raises StateUnreadable where the table is not as this version makes it.
    """
    try:
        table.write(session, statement, makes)
    except Exception as error:
        if lost_race(error):
            return
        refuse_other(session, table.name, table.columns)
        raise


def wins(session: Session, claim: Claim, who: Claimant) -> bool:
    """Insert the row; return whether it is the one that stands for its number now.

    A row of one's own that was inserted before counts as won.
    """
    put_once(session, claim)
    return stands(session, claim, who)


def stands(session: Session, claim: Claim, who: Claimant) -> bool:
    """Return whether the number's row is the claimant's. The table has to exist."""
    table = claim.table.name
    if claim.said and any(c.run_id == who.name for c in newest_commits(session, table, BESIDE)):
        return True  # its transaction landed, which of all that stand for one number only one does
    same = " AND ".join(f"{column} = {claim.values[column]}" for column in who.by)
    asked = f"SELECT {who.column} FROM {relation_name(table)} WHERE {same}"
    return [name for (name,) in session.rows(asked)] == [who.name]
