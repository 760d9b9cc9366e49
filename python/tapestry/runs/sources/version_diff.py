"""Computes the changes of commits from the versions of a table before and after each of them.

    counted    rows as bags: by how many copies a version has more or less of each
    paired     a key on both sides is an updated row; without a key one old row and one new one are

Equal rows that went and came again cancel. Files that both versions have are read on neither side.
The rows are in the form of Delta's change feed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tapestry.errors import ConfigurationError, SourceHistoryGone
from tapestry.quoting import identifier, identifiers, strings
from tapestry.runs.engine.column_types import sql_type
from tapestry.runs.engine.session import Session
from tapestry.runs.sources.describe import DeltaSource
from tapestry.runs.sources.history import COLUMN_OPERATIONS, SourceCommit, read_history
from tapestry.runs.sources.rewrites import columns_at, touched_files
from tapestry.runs.sources.transactions import IMAGES, gone, has_order
from tapestry.sql.catalog import Column
from tapestry.sql.commits.transitions import DELETED, INSERTED, NEW, OLD

_MORE, _VERSION = "_tap_more", "_tap_version"


@dataclass(frozen=True)
class VersionDiffs:
    """Compares versions of a table.

    key
        Columns that tell its rows apart; none: unknown.
    """

    session: Session
    table: DeltaSource
    columns: Sequence[Column]
    key: Sequence[str]

    def told_apart(self, versions: Sequence[int]) -> str:
        """Return a SELECT of these versions' changes, in the form of the change feed.

        Raises ConfigurationError for columns that cannot be compared, ChangesGone where the log
        lacks the commits, or columns had other names.
        """
        self.refuse_columns()
        names = identifiers(column.name for column in self.columns)
        parts = self.parts(versions)
        if not parts:
            nothing = ", ".join(
                f"CAST(NULL AS {sql_type(c.type)}) AS {identifier(c.name)}" for c in self.columns
            )
            return f"SELECT {nothing}, '' AS _change_type, 0L AS _commit_version FROM range(0)"
        by = ", ".join([_VERSION, *(identifier(name) for name in self.key)])
        both = "_tap_olds > 0 AND _tap_news > 0"
        if not self.key:
            both = "_tap_olds = 1 AND _tap_news = 1"
        pre, post, delete, insert = (
            strings([IMAGES[name]]) for name in (OLD, NEW, DELETED, INSERTED)
        )
        return f"""
SELECT {names}, CASE WHEN {both} THEN IF({_MORE} < 0, {pre}, {post})
    WHEN {_MORE} < 0 THEN {delete} ELSE {insert} END AS _change_type, {_VERSION} AS _commit_version
FROM (
  SELECT *, count_if({_MORE} < 0) OVER (PARTITION BY {by}) AS _tap_olds,
    count_if({_MORE} > 0) OVER (PARTITION BY {by}) AS _tap_news
  FROM (
    SELECT *, explode(array_repeat(0, CAST(abs({_MORE}) AS INT))) AS _tap_copy
    FROM ({" UNION ALL ".join(parts)})
  )
)"""

    def parts(self, versions: Sequence[int]) -> list[str]:
        """Return, for each commit that moved files, a SELECT of rows with differences in number."""
        first, last = min(versions), max(versions)
        try:
            history = read_history(self.session, self.table, first - 1, last)
        except SourceHistoryGone as error:
            raise gone(self.table, first - 1, last) from error
        commits = {one.version: one for one in history}
        renamed = any(one.operation in COLUMN_OPERATIONS for one in history)
        if self.table.renames and renamed:
            raise gone(self.table, first - 1, last, "a column was renamed or dropped in between")
        moved = any(one.metadata and one.version > 0 for one in history)
        return [
            self.counted(commits[version], moved)
            for version in versions
            if commits[version].kind not in ("metadata", "compaction")
        ]

    def counted(self, commit: SourceCommit, moved: bool) -> str:
        """Return a SELECT of the rows by which a commit's version differs from the one before."""
        names = identifiers(column.name for column in self.columns)
        version, files = commit.version, touched_files([commit])
        sides = [self.side(version, files, 1, moved)]
        if version > 0:
            sides.append(self.side(version - 1, files, -1, moved))
        return (
            f"SELECT {names}, sum({_MORE}) AS {_MORE}, {version:d}L AS {_VERSION}"
            f" FROM ({' UNION ALL '.join(sides)}) GROUP BY {names} HAVING sum({_MORE}) <> 0"
        )

    def side(self, version: int, files: Sequence[str], sign: int, moved: bool) -> str:
        """Return a SELECT of the rows of one version in these files; without files: all rows."""
        there = self.columns
        if moved:
            there = columns_at(self.session, self.table, version)
        known = {column.name.lower(): column for column in there}
        listed = ", ".join(_as_now(one, known.get(one.name.lower())) for one in self.columns)
        where = f" WHERE _tap_s._metadata.file_name IN ({strings(files)})" if files else ""
        at = self.table.at(version)
        return f"SELECT {listed}, {sign:d} AS {_MORE} FROM {at} AS _tap_s{where}"

    def refuse_columns(self) -> None:
        """Raise ConfigurationError for a column whose values cannot be compared."""
        for column in self.columns:
            if not has_order(column.type):
                raise ConfigurationError(
                    f"{column.name} of {self.table.name} has the type {column.type}: versions of"
                    " the table cannot be compared",
                    where=self.table.name,
                    hint="let the rule look at a table without the column, or at its change data"
                    " feed: changes: cdf, on_overwrite: fire",
                )


def _as_now(column: Column, then: Column | None) -> str:
    """Return a present column, read from a version in which it was different or missing."""
    name = identifier(column.name)
    if then is None:
        return f"CAST(NULL AS {sql_type(column.type)}) AS {name}"
    if then.type == column.type:
        return f"_tap_s.{name}"
    return f"CAST(_tap_s.{name} AS {sql_type(column.type)}) AS {name}"
