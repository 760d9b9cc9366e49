"""The knowledge of a run about the runs before it, and the rows it keeps for later ones.

These are delivered answers, in the table, in `<target>__rejected` and as hashes in
`<target>__known`; and the running states of groups in `<target>__memory`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tapestry.names import MATCHED_AT
from tapestry.quoting import identifiers, timestamp
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.continuous.begins import begins
from tapestry.runs.kinds.continuous.config import ContinuousConfig
from tapestry.runs.kinds.continuous.known.erased_answers import find_erased, known_hashes
from tapestry.runs.kinds.continuous.known.group_states import (
    GroupStates,
    group_states,
    keeps_groups,
    without_groups,
)
from tapestry.runs.kinds.continuous.known.published_rows import no_rows, published_rows
from tapestry.runs.kinds.continuous.late.scans import Examination
from tapestry.runs.kinds.continuous.query import Query
from tapestry.runs.kinds.continuous.window.new_answers import Known
from tapestry.runs.model.model import Model
from tapestry.runs.protocol.standing import Standing
from tapestry.runs.tables.state_row import StateRow
from tapestry.sql.scan import KnownAnswers


@dataclass(frozen=True)
class KnownBefore:
    """A model, its standing and its state table, from which known answers are read."""

    session: Session
    model: Model
    standing: Standing
    state_table: str

    def first(self, query: Query, row: StateRow, found: Mapping[str, Examination]) -> Known:
        """Return what a first run knows: no answers, and no states of groups."""
        groups = self.groups(query, row, found)
        return Known(groups.row, rows=groups.rows)

    def later(
        self, query: Query, row: StateRow, found: Mapping[str, Examination], few: bool
    ) -> Known:
        """Return what a run that appends knows; ``few``: its window has few rows."""
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
        """Return the states of a query's groups; ``at_begin``: all since then is computed anew."""
        crashed = self.standing.crashed
        if keeps_groups(self.model, query) and not at_begin:
            return group_states(self.session, query, row, found, few, crashed)
        return GroupStates(row if crashed else without_groups(row))

    def erased(self, query: Query, row: StateRow) -> Known:
        """Return the answers deleted from the table since the last landed run, where that matters.

        A run that crashed, or failed, may have been the one that had to note it.
        """
        standing = self.standing
        look = standing.accepted or standing.crashed or row.n - 1 in row.failed
        if not look or not query.rewriting.asks_known:
            return Known(row)
        return find_erased(self.session, self.model, query, row, self.state_table)


def known_answers(
    session: Session, model: Model, query: Query, row: StateRow, version: int
) -> KnownAnswers | None:
    """Return the answers before a run, for a query that tells new ones from them by value.

    ``version`` is the target's at which they are read: Delta leaves out an INSERT of no rows that
    reads the table that it writes to, as it is then, and with it the mark that the run landed.

    Where the query counts from the end of a run of another query on, the rows up to there are not
    its answers; the answers that it would have given there are known all the same (aggregates,
    section 6).
    """
    config: ContinuousConfig = model.config.own
    if row.since is None or not query.rewriting.asks_known:
        return None
    columns = query.rewriting.values
    begin = begins(row).begin
    changed = begin is not None and begin != config.begin and begin <= row.since
    anew = changed and begin == row.since
    rows = "" if anew else published_rows(session, row, [*columns, MATCHED_AT], version)
    if not rows:
        return KnownAnswers(no_rows(columns), changed)
    if not changed:
        return KnownAnswers(rows)
    assert begin is not None
    after = f"{MATCHED_AT} > {timestamp(begin)}"
    return KnownAnswers(f"(SELECT {identifiers(columns)} FROM {rows} WHERE {after})", changed)
