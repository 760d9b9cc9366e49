"""The cases for which a query is evaluated in one statement, and the interface of lifting."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from sqlglot import exp

from tapestry.sql.ir import SourceTable

AT, RANK = "_instant", "_rank"
"""The case of a row, and its place among the rows of one case."""
ROWS_KEY = "_rows_key"
"""The column that identifies a row of FROM."""


@dataclass(frozen=True)
class Visible:
    """The rows of a use of a source that exist in each case.

    cases
        A relation of cases with the column ``_instant``, under the alias that was asked for.
    on
        What says, of a row and a case, that the row is there.
    where
        What every row fulfils that is there in any case.
    """

    cases: exp.Table
    on: list[exp.Expr] = field(default_factory=list)
    where: list[exp.Expr] = field(default_factory=list)


class Cases(Protocol):
    """A relation of cases."""

    def every(self, alias: str) -> exp.Table:
        """Every case, each once."""

    def in_every_case(self, table: SourceTable) -> bool:
        """Return whether all rows of a use of a source exist in every case."""

    def visible(self, table: SourceTable, alias: str) -> Visible:
        """Return the cases, as a relation ``alias``, in which rows of a use of a source exist."""


class Lifts(Protocol):
    """Lifts queries over cases, and generates names."""

    def name(self, kind: str) -> str:
        """Return a new generated alias."""

    def every(self, alias: str) -> exp.Table:
        """Every case, each once."""

    def rows(self, node: exp.Expr, keyed: bool = False) -> exp.Query:
        """The rows of a query in every case."""
