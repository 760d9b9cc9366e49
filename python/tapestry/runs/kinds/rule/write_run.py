"""Builds the plan of a rule's run, which writes the firings and bound rows of a window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tapestry.runs.checks.new_rows import NewRows
from tapestry.runs.engine.column_types import columns_of_table, sql_type
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.rule.evaluate import Evaluated
from tapestry.runs.model.model import Model
from tapestry.runs.protocol.claiming import closing
from tapestry.runs.protocol.plan import Beforehand, Planned
from tapestry.runs.protocol.standing import Standing
from tapestry.runs.protocol.standing_rules import landed_run
from tapestry.runs.protocol.writing import Appending, Creation, Writing, closing_sql
from tapestry.runs.query.holding import Holding
from tapestry.runs.query.views import Views
from tapestry.runs.tables.bound_rows import ADDED_BY_US, bound_table
from tapestry.runs.tables.firings import ClosedRows, Firings
from tapestry.runs.tables.kept import KeptRows, WrittenBeside, kept_name
from tapestry.runs.tables.spent import removal_id
from tapestry.runs.tables.state_row import StateRow


@dataclass(frozen=True)
class WriteRule:
    """The run ``row`` of a rule."""

    session: Session
    model: Model
    standing: Standing
    state_table: str
    row: StateRow

    def planned(self, found: Evaluated, views: Views) -> Planned:
        """Return the run as it is carried out."""
        row = self.row
        main, *others = found.rows
        beside = self.removing(others)
        for name in others:
            typed = {column: sql_type(kind) for column, kind in found.columns[name]}
            table = bound_table(name, typed)
            beside.append(KeptRows(table, found.bound(name, number=False), tidies=False))
        state_table = self.state_table
        firings = Firings(state_table, found.firings)
        columns = (*(name for name, _ in found.columns[main]), *ADDED_BY_US)
        replaces = self.standing.target is not None
        writing: Writing = Appending(row, columns)
        ready: tuple[str, ...] = ()
        if row.n == 1:
            writing = Creation(self.model, row.generation, replaces, state_table)
            ready = self.closing()
        select = found.bound(main, number=True, n=row.n)
        rows = NewRows(
            self.model, row.identity, select, columns, columns,
            holding=Holding(made=tuple(views.names)), creates=row.n == 1,
        )  # fmt: skip
        return Planned(
            row, rows, writing, state_table,
            before=Beforehand(beside=(*beside, firings)),
            ready=ready, circumstances=self.standing.circumstances,
        )  # fmt: skip

    def removing(self, others: Sequence[str]) -> list[WrittenBeside]:
        """Return the removal of what closed runs have written; nothing after one that landed."""
        last, relation = self.standing.row, self.row.model
        if last is None or last.n not in last.failed:
            return []
        after = landed_run(self.session, relation, self.row.generation)
        tables = tuple(kept_name(relation, f"__{name}") for name in others)
        return [ClosedRows(self.state_table, after, tables)]

    def closing(self) -> tuple[str, ...]:
        """Close the former generation, against its runs and the removal of its rows."""
        own = closing(self.session, self.standing, self.row)
        old = None if self.standing.target is None else self.standing.target.generation
        if not own or old is None:
            return own
        columns = len(columns_of_table(self.session, self.row.model))
        under = removal_id(old)
        return (*own, closing_sql(self.row.model, columns, old, self.row.run_id, under))
