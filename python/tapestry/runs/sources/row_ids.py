"""Pairs old and new images of rows by the ids that Delta keeps of rows (row tracking).

The change feed does not have the ids. The versions before and after a commit do: an id in both is
one row, and Delta says of each row which commit has written it last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tapestry.errors import SourceHistoryGone
from tapestry.quoting import identifiers, strings
from tapestry.runs.engine.session import Session
from tapestry.runs.sources.describe import DeltaSource
from tapestry.runs.sources.history import SourceCommit, read_history
from tapestry.runs.sources.rewrites import touched_files
from tapestry.runs.sources.transactions import IMAGES
from tapestry.sql.catalog import Column
from tapestry.sql.commits.transitions import DELETED, INSERTED, NEW, OLD

PAIR: Final = "_tap_pair"
"""The id by which the two images of an updated row are told to be of one."""
BACKFILL: Final = "ROW TRACKING BACKFILL"


@dataclass(frozen=True)
class RowIds:
    """The changed rows of commits with their ids, in the form of the change feed."""

    session: Session
    table: DeltaSource
    columns: Sequence[Column]

    def with_ids(self, versions: Sequence[int]) -> str | None:
        """Return a SELECT of the changes of these versions' commits; None: ids do not tell them.

        That is so where rows got their ids, or columns changed, among these commits.
        """
        first, last = min(versions), max(versions)
        try:
            history = read_history(self.session, self.table, first - 1, last)
        except SourceHistoryGone:
            return None
        if first == 0 or any(one.metadata or one.operation == BACKFILL for one in history):
            return None
        commits = {one.version: one for one in history}
        return " UNION ALL ".join(self.of_commit(commits[version]) for version in versions)

    def of_commit(self, commit: SourceCommit) -> str:
        """Return a SELECT of the rows that one commit has changed."""
        names, version = identifiers(one.name for one in self.columns), commit.version
        before, after = self.side(commit, version - 1), self.side(commit, version)
        pre, post, delete, insert = (
            strings([IMAGES[name]]) for name in (OLD, NEW, DELETED, INSERTED)
        )
        by = f"(PARTITION BY {PAIR})"
        return f"""
SELECT {names}, {PAIR}, CASE WHEN _tap_is_new AND _tap_olds > 0 THEN {post}
    WHEN _tap_is_new THEN {insert} WHEN _tap_news > 0 THEN {pre} ELSE {delete} END AS _change_type,
  {version:d}L AS _commit_version
FROM (
  SELECT *, count_if(_tap_is_new) OVER {by} AS _tap_news,
    count_if(NOT _tap_is_new) OVER {by} AS _tap_olds,
    bool_or(_tap_is_new AND _tap_written = {version:d}) OVER {by} AS _tap_changed
  FROM (SELECT *, false AS _tap_is_new FROM ({before})
    UNION ALL SELECT *, true AS _tap_is_new FROM ({after}))
) WHERE coalesce(_tap_changed, false) OR _tap_news = 0 OR _tap_olds = 0"""

    def side(self, commit: SourceCommit, version: int) -> str:
        """Return a SELECT of a version's rows in the files that a commit has touched."""
        names = ", ".join(f"_tap_s.{identifiers([one.name])}" for one in self.columns)
        files = touched_files([commit])
        where = f" WHERE _tap_s._metadata.file_name IN ({strings(files)})" if files else ""
        return (
            f"SELECT {names}, _tap_s._metadata.row_id AS {PAIR},"
            f" _tap_s._metadata.row_commit_version AS _tap_written"
            f" FROM {self.table.at(version)} AS _tap_s{where}"
        )
