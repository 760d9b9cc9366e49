"""Builds the plan of a run for the protocol: the rows that it writes, and their checks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tapestry.runs.checks.new_rows import NewRows, WholeTable
from tapestry.runs.checks.verification import Verification
from tapestry.runs.kinds.maintained.cheaper import Cheaper
from tapestry.runs.kinds.maintained.query import MaintainedQuery
from tapestry.runs.kinds.maintained.reasons import Whole
from tapestry.runs.kinds.maintained.replace_rows import Replacement
from tapestry.runs.kinds.maintained.table_change import TableChange, at_version
from tapestry.runs.kinds.maintained.unique_rows import UniqueRows
from tapestry.runs.kinds.maintained.verify import AnswerVerified, is_verified
from tapestry.runs.model.model import Model
from tapestry.runs.protocol.plan import Figures, Planned, Proof, Told
from tapestry.runs.protocol.refreshed import INCREMENTAL, Refreshed
from tapestry.runs.protocol.standing import Standing
from tapestry.runs.protocol.writing import Creation, Overwriting, Writing
from tapestry.runs.query.holding import NOTHING_HELD, Holding
from tapestry.runs.sources.difference import FEED
from tapestry.runs.tables.state_row import StateRow


def is_followed(model: Model) -> bool:
    """Return whether other models, or users of its change data feed, read the table."""
    return model.feeds or str(model.properties.get(FEED, "")).lower() == "true"


@dataclass(frozen=True)
class WriteRun:
    """The run ``row`` of a model.

    weighed
        The comparison with the cost of the whole answer.
    whole
        Why the run computes the whole answer.
    """

    model: Model
    query: MaintainedQuery
    standing: Standing
    state_table: str
    row: StateRow
    weighed: Cheaper
    whole: Whole | None = None

    def creating(self, ready: tuple[str, ...], warnings: tuple[str, ...]) -> Planned:
        """Plan to make the table of the whole answer."""
        row, replaces = self.row, self.standing.target is not None
        return Planned(
            row,
            self.new_rows(self.answer, self.anew, creates=True),
            Creation(self.model, row.generation, replaces, self.state_table),
            self.state_table,
            proof=self.proof(""),
            ready=ready,
            told=Told(warnings, self.figures()),
        )

    def overwriting(self) -> Planned:
        """The whole answer in the place of all rows."""
        writing = Overwriting(self.row, self.query.written)
        return self._later(self.new_rows(self.answer, self.anew), writing, self.proof(""))

    def replacing(self, made: Replacement, views: Sequence[str], change: TableChange) -> Planned:
        """Plan to replace rows by others."""
        stays = made.staying(at_version(self.model.relation, self.standing.version))
        whole, verification = WholeTable(stays, made.rejected), None
        if is_verified(self.query, self.row.n, self.model.config):
            answer = self.query.answer(self.row.after.t)
            verification = AnswerVerified(self.query, answer, self.row, stays)
        rows = self.new_rows(made.select, whole, Holding(made=tuple(views)))
        writing = made.writing(self.row, self.query.written)
        return self._later(rows, writing, self.proof(stays, verification), change)

    def _later(
        self, rows: NewRows, writing: Writing, proof: Proof, change: TableChange | None = None
    ) -> Planned:
        return Planned(
            self.row,
            rows,
            writing,
            self.state_table,
            proof=proof,
            circumstances=self.standing.circumstances,
            little=self.query.relations.little,
            told=Told(self.weighed.warned(self.whole), self.figures(change)),
        )

    def proof(self, stays: str, verification: Verification | None = None) -> Proof:
        """Return the checks of the new rows; ``stays``: rows of the table, as behind FROM."""
        if self.query.unique:
            said = self.query.declared
            verification = UniqueRows(self.query.unique, said, stays, verification)
        return Proof(verification=verification)

    def figures(self, change: TableChange | None = None) -> Figures:
        """Return the figures of the run: why it computes the whole answer, and its changed rows."""
        whole = self.whole
        refreshed = Refreshed(
            INCREMENTAL if whole is None else "full",
            "" if whole is None else whole.reason.name,
            "" if whole is None else whole.detail,
            None if change is None else change.inserted,
            None if change is None else change.updated,
            None if change is None else change.deleted,
            self.query.size,
            self.weighed.changed,
        )
        return Figures(str(whole or INCREMENTAL), refreshed=refreshed)

    @property
    def answer(self) -> str:
        """Return all rows, as the run writes them."""
        t = self.row.after.t
        return self.query.stamped(self.query.answer(t), t)

    @property
    def anew(self) -> WholeTable:
        """The table is made of the new rows alone, and so are its rejected rows."""
        return WholeTable("", "" if self.query.declared.drops else None)

    def new_rows(
        self,
        select: str,
        whole: WholeTable,
        holding: Holding = NOTHING_HELD,
        creates: bool = False,
    ) -> NewRows:
        """Return the rows that the run writes."""
        return NewRows(
            self.model,
            self.row.identity,
            select,
            selected=self.query.written,
            columns=self.query.written,
            audit=self.query.stamp_names,
            expected=self.query.declared.expected,
            holding=holding,
            creates=creates,
            whole=whole,
        )
