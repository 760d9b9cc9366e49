"""Transition tables: the rows that a commit has changed, as a rule's queries name them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tapestry.errors import ReservedName
from tapestry.sql.catalog import Column, Source

INSERTED: Final = "inserted"
DELETED: Final = "deleted"
OLD: Final = "old"
NEW: Final = "new"
TRANSITIONS: Final = (INSERTED, DELETED, OLD, NEW)
"""``old`` and ``new`` hold the rows that were updated, before and after."""

ORDER: Final = "execute_order"
TIME: Final = "commit_time"
VERSION: Final = "commit_version"
TRANSACTION: Final = "_tap_transaction"
"""The number of the transaction that has changed a row: no query of an author sees it. Where each
commit is one transaction it is the version."""
ADDED: Final = (Column(ORDER, "bigint"), Column(TIME, "timestamp"), Column(VERSION, "bigint"))
"""Their last columns: the order of the changes within the commit, the images of one row alike;
when it was made, and its version of the table."""


def transition_sources(table: str, columns: Sequence[Column]) -> dict[str, Source]:
    """The transition tables of a table with these columns.

    Raises ReservedName where a column is called as one of those that they have besides.
    """
    added = {column.name for column in ADDED}
    if (odd := next((c.name for c in columns if c.name.lower() in added), None)) is not None:
        raise ReservedName(
            f"{table} has a column {odd}, which the transition tables of a rule add of their own",
            hint="rename it, or let the rule look at a table without it",
        )
    return {name: Source(name, (*columns, *ADDED), None) for name in TRANSITIONS}
