"""The sources of a run in its two positions: their differences, and where their rows are read.

A small source that changed is read once a position, into a view of the session: its versions are
compared there as bags, and all later statements read the views. The log of a larger one tells where
to look. A source without differences is read as one that did not change.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from tapestry.errors import SourceHistoryGone
from tapestry.runs.context.shared_views import SharedViews
from tapestry.runs.engine.errors_of_delta import history_gone
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.maintained.cheaper import Cheaper
from tapestry.runs.kinds.maintained.query import MaintainedQuery
from tapestry.runs.kinds.maintained.reasons import Reason, Whole
from tapestry.runs.query.views import Views
from tapestry.runs.sources.describe import DeltaSource
from tapestry.runs.sources.difference import (
    COPIES,
    FeedViews,
    NotComparableError,
    ReadSource,
    SchemaChangedError,
    SourceAt,
    SourceDifference,
    difference,
    feed_of,
)
from tapestry.runs.tables.state_row import Position
from tapestry.sql.operators.texts import SourceVersions

HELD = 2 * 2**20
"""Bytes of a source up to which both versions are read whole: the log takes longer to ask."""


@dataclass(frozen=True)
class SharedFeeds:
    """Change feeds in views that all models of an invocation read."""

    session: Session
    shared: SharedViews

    def feed_view(self, table: DeltaSource, first: int, last: int) -> str:
        """Return the view of the feed of these versions; "": there is none."""
        key = ("change feed", table.name, table.table_id, first, last)
        select = f"SELECT * FROM {feed_of(table, first, last)}"
        return self.shared.shared_view(self.session, key, select)


@dataclass(frozen=True)
class SourcesCompared:
    """Each source in both positions, and the number of rows that are in one alone."""

    versions: Mapping[str, SourceVersions]
    rows: int

    @property
    def moved(self) -> bool:
        """Whether any of them differs."""
        return any(one.minus or one.plus for one in self.versions.values())


@dataclass(frozen=True)
class _Told:
    """A source between its positions, before its changed rows are read; None: no change."""

    source: ReadSource
    old: SourceAt
    new: SourceAt
    by: SourceDifference | None

    @property
    def small(self) -> bool:
        return self.source.table.size <= HELD


def compare_sources(
    views: Views, query: MaintainedQuery, last: Position, t: datetime, feeds: FeedViews,
    cheaper: Cheaper,
) -> SourcesCompared | Whole:  # fmt: skip
    """Compare the sources; a ``Whole`` says why not, or that it is ``cheaper``.

    ``feeds`` reads a change feed once for all models of an invocation.
    """
    told: dict[str, _Told] = {}
    found, rows, name = {}, 0, ""
    try:
        for name, source in query.sources.items():
            if name not in last.pins:
                return Whole(Reason.QUERY_CHANGED, name)
            old, new = SourceAt(last.pins[name], last.t), SourceAt(query.pins[name], t)
            small = source.table.size <= HELD
            by = difference(views.session, source, old, new, small, feeds)
            told[name] = _Told(source, old, new, by)
        size = sum(one.by.size for one in told.values() if one.by is not None)
        if (whole := cheaper.whole_above(size)) is not None:
            return whole
        for name, one in told.items():
            found[name], count = _compared(views, one)
            rows += count
    except SchemaChangedError as error:
        return Whole(Reason.SCHEMA_CHANGED, f"{name}: {error}")
    except NotComparableError as error:
        return Whole(Reason.UNCOMPARABLE_TYPE, f"{name}: {error}")
    except SourceHistoryGone:
        return Whole(Reason.HISTORY_GONE, name)
    except Exception as error:
        if not history_gone(error):
            raise
        return Whole(Reason.HISTORY_GONE, name)
    return SourcesCompared(found, rows)


def _compared(views: Views, told: _Told) -> tuple[SourceVersions, int]:
    """Return a source, and how many of its rows differ."""
    source, one = told.source, told.by
    text = source.rows(told.new.pin.version, told.new.until)
    if one is None:
        return SourceVersions("", text, "", ""), 0
    text = _held(views, text) if told.small else text
    counted, gone, came = "", 0, 0
    if one.counted:
        try:
            counted, gone, came = _counted(views, one)
        except Exception:
            if one.means != "feed":
                raise
            # A feed has files of its own, which may be gone where those of the versions are not.
            one = difference(views.session, source, told.old, told.new, told.small)
            assert one is not None  # a feed was read of commits that move rows
            counted, gone, came = _counted(views, one)
    if not (gone or came or one.in_time):
        return SourceVersions("", text, "", ""), 0
    minus, plus = one.sides(counted)
    before = source.rows(told.old.pin.version, told.old.until)
    if gone or one.in_time:
        before = _held(views, before) if told.small else before
    versions = SourceVersions(
        before, text, minus if gone else "", plus if came or one.in_time else ""
    )
    return versions, gone + came


def _counted(views: Views, one: SourceDifference) -> tuple[str, int, int]:
    """Return a view of differing rows with counts, and how many rows go out and come in."""
    counted = views.keep(one.counted)
    ((gone, came),) = views.session.rows(
        f"SELECT coalesce(-sum({COPIES}) FILTER (WHERE {COPIES} < 0), 0),"
        f" coalesce(sum({COPIES}) FILTER (WHERE {COPIES} > 0), 0) FROM {counted}"
    )
    return counted, int(gone), int(came)


def _held(views: Views, select: str) -> str:
    return f"SELECT * FROM {views.keep(select)}"
