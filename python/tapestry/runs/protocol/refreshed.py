"""Reports how a table was updated of which rows go out."""

from __future__ import annotations

from dataclasses import dataclass

from tapestry.words import counted

INCREMENTAL = "incremental"


@dataclass(frozen=True)
class Refreshed:
    """The way in which a table was updated of which rows go out, and the reason.

    refresh
        ``incremental``: by changes; ``full``: by the whole answer. '': only added to.
    reason
        The name of the reason for the whole answer; ``about``: its subject.
    inserted, updated, deleted
        Rows that come in, take the place of others, and go out; None: that is not counted.
    bytes_full
        The size of all that the whole answer is computed from.
    bytes_changed
        The size of what was read to find the changed rows of the sources; None: nothing was.
    """

    refresh: str = ""
    reason: str = ""
    about: str = ""
    inserted: int | None = None
    updated: int | None = None
    deleted: int | None = None
    bytes_full: int | None = None
    bytes_changed: int | None = None

    @property
    def by_changes(self) -> bool:
        """Whether the table was updated by changes."""
        return self.refresh == INCREMENTAL

    def told(self, rows: int | None) -> str:
        """Return a summary for dbt's line; ``rows``: how many were written, if none were counted.

        >>> Refreshed("incremental", "", "", 12, 3, 1).told(None)
        '12 inserted, 3 updated, 1 deleted; incremental'
        >>> Refreshed("full", "NO_KEY").told(7)
        '7 rows; full: NO_KEY'
        """
        how = f"{self.refresh}: {self.reason}" if self.reason else self.refresh
        if self.inserted is None:
            return how if rows is None else f"{counted(rows, 'row')}; {how}"
        return f"{self.inserted} inserted, {self.updated} updated, {self.deleted} deleted; {how}"


NOT_REFRESHED = Refreshed()
"""A table that is only added to has none of it."""
