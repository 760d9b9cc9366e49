"""Reads the new rows of a source once for all models of an invocation that read no others.

A model that selects rows of one stream, or joins new ones to static tables, reads the rows that
arrived in its window (`Rewriting.narrowed`). Other models read the same rows. Where these are few
they are kept in memory for all of them (`SharedViews`); a model whose window is a part of that
reads them, too, for it has all of its conditions in its own statement.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tapestry.quoting import timestamp
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.continuous.late.scans import Examination
from tapestry.runs.kinds.continuous.query import Query
from tapestry.runs.model.model import Model
from tapestry.runs.query.holding import SMALL
from tapestry.runs.sources.contents import column_list
from tapestry.runs.sources.describe import DeltaSource, arrival_sql
from tapestry.runs.tables.state_row import StateRow
from tapestry.runs.tables.target import commits_after
from tapestry.sql import Scan

MOST_COMMITS = 20
MOST_ROWS = 200_000


@dataclass(frozen=True)
class SharedWindow:
    """The way a run reads its sources whose new rows are kept in memory.

    few
        They are few, and all answers come of them: no other source has arrivals.
    little
        Its other sources are small, too.
    """

    scans: Mapping[str, Scan] = field(default_factory=dict)
    few: bool = False
    little: bool = False


NOTHING_SHARED = SharedWindow()


@dataclass(frozen=True)
class Asker:
    """A query, the run that executes it, and the examinations of its sources."""

    query: Query
    row: StateRow
    found: Mapping[str, Examination]


def share_window(
    session: Session, model: Model, invocation: Invocation, asker: Asker
) -> SharedWindow:
    """Read the new rows of each source from memory where the query needs no others of it.

    The verification of a run reads its sources anyway. Late rows are read where they are kept, and
    rows of another source that join them may be old, though in time they would have come later.
    """
    query, found = asker.query, asker.found
    if asker.row.since is None or model.config.verify != "off" or not session.can.keeps_memory():
        return NOTHING_SHARED
    if any(one.scan.late for one in found.values()):
        return NOTHING_SHARED
    sharing = _Sharing(session, invocation, query, asker.row)
    scans: dict[str, Scan] = {}
    few = True
    for name in query.rewriting.sources:
        view = sharing.view(name, found[name]) if name in query.rewriting.narrowed else ""
        if view:
            scans[name] = replace(found[name].scan, relation=view)
            few = few and sharing.few(view)
        elif query.relations.arrival(name) is not None:
            few = False
    if not scans:
        return NOTHING_SHARED
    others = [
        query.relations.tables[n].table.size for n in query.rewriting.sources if n not in scans
    ]
    return SharedWindow(scans, few, few and max(others, default=0) <= SMALL)


@dataclass(frozen=True)
class _Sharing:
    """A run that reads from shared memory."""

    session: Session
    invocation: Invocation
    query: Query
    row: StateRow

    def view(self, name: str, found: Examination) -> str:
        """Return the view of the window's rows; "" where they are read from the source."""
        table, pin = self.query.relations.tables[name].table, self.row.after.pins[name]
        before, reading = self.row.before, found.reading
        last = None if before is None else before.pins.get(name)
        if reading is None or found.ends or found.before or table.commits:
            return ""
        if last is None or last.table_id != pin.table_id or not found.changed:
            return ""
        if not self.little_came(table, last.version, pin.version):
            return ""
        assert before is not None
        shared, arrival = self.invocation.shared, arrival_sql(reading.arrival)
        rows = ("window", table.name, table.columns, pin.table_id, pin.version, arrival)
        low, high = shared.interval(rows, before.t, self.row.after.t)
        select = (
            f"SELECT {column_list(table.columns)} FROM {table.at(pin.version)}"
            f" WHERE {arrival} > {timestamp(low)} AND {arrival} <= {timestamp(high)}"
        )
        return shared.shared_view(self.session, (rows, low, high), select)

    def little_came(self, table: DeltaSource, after: int, until: int) -> bool:
        """Return whether versions (after, until] are few and small commits, as far as they tell."""
        if not 0 < until - after <= MOST_COMMITS:
            return False

        def look() -> bool:
            commits = commits_after(self.session, table.name, after)
            mine = [commit for commit in commits if commit.version <= until]
            sizes = [0 if commit.harmless else commit.written.size for commit in mine]
            known = [size for size in sizes if size is not None]
            return len(known) == until - after and sum(known) <= SMALL

        return self.invocation.remember(("came", table.name, table.table_id, after, until), look)

    def few(self, view: str) -> bool:
        """Return whether a view has few rows."""
        return self.invocation.shared.rows(self.session, view) <= MOST_ROWS
