"""How a table was brought up to date of which rows go out, too."""

from __future__ import annotations

from dataclasses import dataclass

from tapestry.words import counted

INCREMENTAL = "incremental"


@dataclass(frozen=True)
class Refreshed:
    """Brings a table up to date of which rows go out, too: how, and why so.

    refresh
        ``incremental``: by what has changed; ``full``: by the whole answer. '': only added to.
    reason
        The name of the reason for the whole answer; ``about``: what that reason is about.
    inserted, updated, deleted
        Rows that come in, take the place of others, and go out; None: that is not counted.
    bytes_full
        The size of all that the whole answer is computed from.
    bytes_changed
        The size of what told which rows of the sources had changed; None: that was not asked.
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
        """Is the table brought up to date by what has changed?"""
        return self.refresh == INCREMENTAL

    def told(self, rows: int | None) -> str:
        """The same for dbt's line; ``rows``: how many were written, where nothing was counted.

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
