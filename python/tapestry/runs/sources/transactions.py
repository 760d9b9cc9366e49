"""The commits of a table as transactions: when each was made, and the rows that it changed.

A commit that changes no row is not a transaction. Every changed row has its number within the
commit (``execute_order``), the two images of an updated row the same one (rules, sections 2 and 3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any, Final

from tapestry.errors import CannotPair, ChangesGone
from tapestry.instants import from_micros, micros
from tapestry.quoting import identifier, identifiers, relation_name, string
from tapestry.runs.engine.session import Session
from tapestry.runs.engine.values import as_map, note_of_ours
from tapestry.runs.sources.describe import DeltaSource
from tapestry.runs.sources.difference import FEED, feed_of
from tapestry.sql.catalog import Column
from tapestry.sql.commits.transitions import (
    DELETED,
    INSERTED,
    NEW,
    OLD,
    ORDER,
    TIME,
    TRANSACTION,
    VERSION,
)

TYPE, HOW = "_tap_type", "_tap_how"
"""Columns of the changes besides those of a transition table: what has happened to a row, and how
the two images of an updated row are told: not at all, by the key, or as the only ones left."""
_ANEW: Final = ("CREATE OR REPLACE", "REPLACE TABLE", "RESTORE")
"""Operations that write a table anew, or take it back, as their names begin."""
ALONE, BY_KEY, LEFT_OVER = range(3)
OF_CHANGE: Final = (ORDER, TIME, VERSION, TRANSACTION)
"""The columns of a changed row besides the table's own."""
AHEAD, MANY = 20, 1_000_000
"""So many commits may have come since a version was pinned; and as many as there are."""
IMAGES: Final = {
    INSERTED: "insert",
    DELETED: "delete",
    OLD: "update_preimage",
    NEW: "update_postimage",
}
"""By transition table: what Delta's change feed calls its rows."""


@dataclass(frozen=True)
class Transaction:
    """A commit of a table: its version, when it was made, and how deep in a chain of actions.

    overwrites
        Whether it has written the table anew, or restored it.
    several
        Whether it has updated several rows, as far as its log tells.
    """

    version: int
    time: datetime
    depth: int = 0
    overwrites: bool = False
    several: bool = False


@dataclass(frozen=True)
class CommitWindow:
    """The commits ``(after, until]`` of a table, each with its time."""

    table: DeltaSource
    after: int
    commits: tuple[Transaction, ...]

    @property
    def until(self) -> int:
        """The version up to which it goes."""
        return self.commits[-1].version if self.commits else self.after

    def time_of(self, version: str) -> str:
        """Return SQL: when a commit of the window was made, by its version."""
        listed = string(str([micros(one.time) for one in self.commits]))
        place = f"int({version} - {self.after + 1})"
        return f"timestamp_micros(get(from_json({listed}, 'array<bigint>'), {place}))"

    def depth_of(self, version: str) -> str:
        """Return SQL: how deep in a chain of actions a commit of the window is."""
        listed = string(str([one.depth for one in self.commits]))
        place = f"int({version} - {self.after + 1})"
        return f"get(from_json({listed}, 'array<int>'), {place})"


def window_between(
    session: Session, table: DeltaSource, after: int, until: int, last: datetime | None, t: datetime
) -> CommitWindow:
    """Return the commits ``(after, until]`` that were made by t.

    ``last`` is the time of the commit before them: none of them counts as earlier. Raises
    ChangesGone where the log lacks one of them.
    """
    if until <= after:
        return CommitWindow(table, after, ())
    rows: list[tuple[Any, ...]] = []
    for most in (until - after + AHEAD, MANY):  # those above the pin stand before them
        rows = session.rows(f"DESCRIBE HISTORY {relation_name(table.name)} LIMIT {most}")
        if len(rows) < most or int(rows[-1][0]) <= after + 1:
            break
    times = {
        int(row[0]): (
            _made_at(row),
            int(note_of_ours(row[13]).get("depth", 0)),
            _overwrites(row),
            _updates_several(row),
        )
        for row in rows
        if after < row[0] <= until
    }
    if len(times) != until - after:
        raise gone(table, after, until)
    found: list[Transaction] = []
    for version in range(after + 1, until + 1):
        time, depth, overwrites, several = times[version]
        last = time if last is None else max(last, time)
        if last > t:
            break
        found.append(Transaction(version, last, depth, overwrites, several))
    return CommitWindow(table, after, tuple(found))


def times_of(session: Session, table: DeltaSource, until: int) -> dict[int, datetime]:
    """Return when the versions of a table up to one were made, as far as its log still tells."""
    rows = session.rows(f"DESCRIBE HISTORY {relation_name(table.name)}")
    times = sorted((int(row[0]), _made_at(row)) for row in rows)
    found: dict[int, datetime] = {}
    last = times[0][1]
    for version, time in times:
        last = max(last, time)
        if version <= until:
            found[version] = last
    return found


def _overwrites(row: tuple[Any, ...]) -> bool:
    operation = str(row[4]).upper()
    if operation.startswith(_ANEW):
        return True
    return operation == "WRITE" and as_map(row[5]).get("mode") == "Overwrite"


def _updates_several(row: tuple[Any, ...]) -> bool:
    counts = {"UPDATE": "numUpdatedRows", "MERGE": "numTargetRowsUpdated"}
    name = counts.get(str(row[4]).upper())
    if name is None:
        return False
    count = as_map(row[12]).get(name)
    return count is None or int(count) > 1


def _made_at(row: tuple[Any, ...]) -> datetime:
    """Return when a commit was made; one of an action counts at the t of its run.

    So the rules that it triggers go on in a replay, too.
    """
    t = note_of_ours(row[13]).get("t")
    return from_micros(t) if isinstance(t, int) else row[1].astimezone(timezone.utc)


def gone(
    table: DeltaSource, after: int, until: int, why: str = "its log tells no more"
) -> ChangesGone:
    """Return the error for changes that cannot be read."""
    return ChangesGone(
        f"what versions {after + 1} to {until} of {table.name} have changed cannot be read: {why}",
        where=table.name,
        hint="run the rule more often than the table's history is kept; --full-refresh of the rule"
        " begins anew, and drops what its actions have not done yet",
    )


def needs_feed(table: DeltaSource) -> ChangesGone | None:
    """Return the error of a table without a change feed; None: it has one."""
    if table.properties.get(FEED, "").lower() == "true":
        return None
    return ChangesGone(
        f"{table.name} has no change data feed, by which a rule learns what a commit has changed",
        where=table.name,
        hint=f"ALTER TABLE {relation_name(table.name)} SET TBLPROPERTIES ('{FEED}' = 'true')",
    )


@dataclass(frozen=True)
class ChangedInWindow:
    """The way in which the changed rows of a window are read.

    key
        Columns that tell the rows of the table apart, and that an update leaves as they are.
    paired
        Whether the two images of an updated row are paired.
    feed
        A relation in the form of Delta's change feed, in its place.
    """

    window: CommitWindow
    key: Sequence[str] = ()
    paired: bool = True
    columns: Sequence[Column] = field(default=())
    feed: str = ""

    def select(self) -> str:
        """Return a SELECT of all changed rows of all commits."""
        names = identifiers(column.name for column in self.columns)
        window = self.window
        feed = self.feed or feed_of(window.table, window.after + 1, window.until)
        keys = [identifier(name) for name in self.key]
        own = {column.name.lower() for column in self.columns}
        told = [names, *(identifier(name) for name in self.key if name.lower() not in own)]
        by_key = ", ".join([VERSION, *keys])
        pre, post = string(IMAGES[OLD]), string(IMAGES[NEW])
        both = "_tap_pre = 1 AND _tap_post = 1" if self.paired else "false"
        rest = LEFT_OVER if self.paired else ALONE
        ordered = ", ".join(
            identifier(column.name) for column in self.columns if has_order(column.type)
        )
        kept = [f"IF({HOW} = {BY_KEY}, {one}, NULL)" for one in keys]
        order = ", ".join(
            [HOW, f"IF({HOW} = {ALONE}, {TYPE}, '')", f"IF({HOW} = {ALONE}, _tap_place, 0)", *kept]
        )
        return f"""
SELECT {names}, dense_rank() OVER (PARTITION BY {VERSION} ORDER BY {order}) AS {ORDER},
  {window.time_of(VERSION)} AS {TIME}, {VERSION}, {VERSION} AS {TRANSACTION}, {TYPE}, {HOW}
FROM (
  SELECT *, CASE WHEN {TYPE} NOT IN ({pre}, {post}) THEN {ALONE}
      WHEN {both} THEN {BY_KEY} ELSE {rest} END AS {HOW},
    row_number() OVER (PARTITION BY {VERSION}, {TYPE} ORDER BY {ordered or "1"}) AS _tap_place
  FROM (
    SELECT *, count_if({TYPE} = {pre}) OVER (PARTITION BY {by_key}) AS _tap_pre,
      count_if({TYPE} = {post}) OVER (PARTITION BY {by_key}) AS _tap_post
    FROM (SELECT {", ".join(told)}, _change_type AS {TYPE}, _commit_version AS {VERSION}
      FROM {feed})
  )
)"""

    def unpaired(self, changes: str) -> str:
        """Return a SELECT of the commits with images that cannot be paired.

        ``changes``: a relation of the rows of ``select``.
        """
        images = f"count_if({TYPE} = {string(IMAGES[OLD])})"
        return (
            f"SELECT {VERSION} FROM {changes} WHERE {HOW} = {LEFT_OVER}"
            f" GROUP BY {VERSION} HAVING count(*) <> 2 OR {images} <> 1 ORDER BY {VERSION}"
        )

    def cannot_pair(self, version: int) -> CannotPair:
        """Return the error for a commit whose images cannot be paired."""
        name, by = self.window.table.name, ", ".join(self.key)
        told = f"{by} does not tell its rows apart, or changes" if by else "no key tells rows apart"
        return CannotPair(
            f"version {version} of {name} has updated several rows, and {told}: which new row was"
            " which old one is not known",
            where=name,
            hint="give the rule a key that is unique and does not change, like key='id'; or ALTER"
            f" TABLE {relation_name(name)} SET TBLPROPERTIES ('delta.enableRowTracking' = 'true'),"
            " which tells it of the commits after it",
        )


def transition(name: str, changes: str, columns: Sequence[Column]) -> str:
    """Return a SELECT of the rows of a transition table, of all transactions."""
    listed = ", ".join([identifiers(column.name for column in columns), *OF_CHANGE])
    return f"SELECT {listed} FROM {changes} WHERE {TYPE} = {string(IMAGES[name])}"


def updated(changes: str, columns: Sequence[Column]) -> str:
    """Return a SELECT of the transactions that have changed a value of one of the columns."""
    differ = " OR ".join(
        f"NOT ({_compared('o', one)} <=> {_compared('n', one)})" for one in columns
    )
    return (
        f"SELECT o.{TRANSACTION} FROM {changes} AS o JOIN {changes} AS n"
        f" ON o.{TRANSACTION} = n.{TRANSACTION} AND o.{ORDER} = n.{ORDER}"
        f" AND o.{TYPE} = {string(IMAGES[OLD])} AND n.{TYPE} = {string(IMAGES[NEW])}"
        f" WHERE {differ or 'false'}"
    )


def _compared(alias: str, column: Column) -> str:
    value = f"{alias}.{identifier(column.name)}"
    return value if has_order(column.type) else f"to_json(named_struct('v', {value}))"


def has_order(kind: str) -> bool:
    """Return whether values of a type can be put in order, and compared."""
    return not any(word in kind.lower() for word in ("map<", "variant", "interval"))
