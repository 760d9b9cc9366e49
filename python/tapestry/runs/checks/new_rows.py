"""The new rows of a table before they are written: they are staged, checked and published.

A run of a continuous model has new rows; so has a table of dbt's own materializations with
expectations. This module does not know how they are committed.
"""

from __future__ import annotations

from dataclasses import dataclass

from tapestry.quoting import identifier
from tapestry.runs.expectations.validate import Prepared
from tapestry.runs.model.model import Model
from tapestry.runs.query.holding import NOTHING_HELD, Holding
from tapestry.runs.tables.run_identity import RunIdentity


@dataclass(frozen=True)
class WholeTable:
    """Says what becomes of a table's other rows where new rows replace or change them.

    stays
        The rows that stay, as they stand behind FROM; "": none. Expectations on all rows hold for
        these and the new ones.
    rejected
        A SELECT of all rejected rows that there are after the run; "": only those among the new
        rows; None: those that there were before.
    """

    stays: str = ""
    rejected: str | None = None


@dataclass(frozen=True)
class NewRows:
    """Rows that are to be staged, checked and published.

    select
        The query that gives them, with the columns ``selected``.
    keyed
        The same with the keys that the rows are verified by; "" where they are not verified.
    columns
        Those of ``selected`` that the table takes.
    expected
        The expectations on the rows, fitted to ``selected``.
    holding
        Views that the statements of the run share in memory, once its ``before`` was executed.
    creates
        The table is made of them; else they are added to existing rows.
    whole
        What becomes of the other rows of the table; None: they stay and are not checked.
    audit
        Those of ``columns`` that read the clock, which are no part of an answer.
    """

    model: Model
    identity: RunIdentity
    select: str
    selected: tuple[str, ...]
    columns: tuple[str, ...]
    expected: tuple[Prepared, ...] = ()
    keyed: str = ""
    holding: Holding = NOTHING_HELD
    creates: bool = False
    whole: WholeTable | None = None
    audit: tuple[str, ...] = ()

    @property
    def unchecked(self) -> str:
        """The query of the columns that the table takes, where no row is kept out."""
        if self.columns == self.selected:
            return self.select
        listed = ", ".join(map(identifier, self.columns))
        return f"SELECT {listed} FROM (\n{self.select}\n)"
