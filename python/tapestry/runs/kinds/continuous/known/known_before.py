"""What a run knows of the runs before it, and what it keeps for the runs after it.

Answers that were delivered, in the table, in `<target>__rejected` and as hashes in
`<target>__known`; and the running states of groups in `<target>__memory`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.continuous.known.erased_answers import Erased, find_erased, known_hashes
from tapestry.runs.kinds.continuous.known.group_states import (
    GroupStates,
    group_states,
    keeps_groups,
    without_groups,
)
from tapestry.runs.kinds.continuous.known.published_rows import known_answers
from tapestry.runs.kinds.continuous.late.examine import Examination
from tapestry.runs.kinds.continuous.query import Query
from tapestry.runs.kinds.continuous.window.new_answers import KnownHashes
from tapestry.runs.model.model import Model
from tapestry.runs.run.standing import Standing
from tapestry.runs.tables.kept import KeptRows
from tapestry.runs.tables.state_row import StateRow
from tapestry.sql.scan import KnownAnswers


@dataclass(frozen=True)
class Known:
    """What a run knows; ``row`` is the run as it is claimed, ``rows`` are what it keeps."""

    row: StateRow
    answers: KnownAnswers | None = None
    hashes: KnownHashes | None = None
    rows: tuple[KeptRows, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class KnownBefore:
    """One model, where it stands, and its state table."""

    session: Session
    model: Model
    standing: Standing
    state_table: str

    def first(self, query: Query, row: StateRow, found: Mapping[str, Examination]) -> Known:
        """Of a first run: nothing is known."""
        groups = self.groups(query, row, found)
        return Known(groups.row, rows=groups.rows)

    def later(
        self, query: Query, row: StateRow, found: Mapping[str, Examination], few: bool
    ) -> Known:
        """Of a run that appends; ``few``: so are the rows of its window."""
        session, standing = self.session, self.standing
        erased = self.erased(query, row)
        version = erased.row.target.version if standing.accepted else standing.version
        known = known_answers(session, self.model, query, erased.row, version)
        at_begin = known is not None and known.at_begin
        groups = self.groups(query, erased.row, found, few, at_begin)
        hashes = None
        if known is not None:
            known = replace(known, states=groups.relation)
            hashes = known_hashes(session, query, erased, at_begin)
        return Known(groups.row, known, hashes, (*erased.rows, *groups.rows), erased.warnings)

    def groups(
        self,
        query: Query,
        row: StateRow,
        found: Mapping[str, Examination],
        few: bool = False,
        at_begin: bool = False,
    ) -> GroupStates:
        """What is known of the groups of a query; ``at_begin``: all since then is asked anew."""
        crashed = self.standing.crashed
        if keeps_groups(self.model, query) and not at_begin:
            return group_states(self.session, query, row, found, few, crashed)
        return GroupStates(row if crashed else without_groups(row))

    def erased(self, query: Query, row: StateRow) -> Erased:
        """What was deleted from the table since the last run that landed, where that matters.

        A run that crashed, or failed, may have been the one that had to note it.
        """
        standing = self.standing
        look = standing.accepted or standing.crashed or row.n - 1 in row.failed
        if not look or not query.rewriting.asks_known:
            return Erased(row)
        return find_erased(self.session, self.model, query, row, self.state_table)
