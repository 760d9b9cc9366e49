"""When the commits of a table were made, and with them its rows (``arrival: commit``).

Row tracking says of every row which version added it, whatever was compacted since; the in-commit
timestamp says when that version was made. It stands in the log, which Delta cleans up, so what a
run has read there is kept beside the state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from tapestry.instants import from_micros
from tapestry.quoting import string


@dataclass(frozen=True)
class CommitTimes:
    """The instants of the versions from ``first`` on, without a gap.

    millis
        Milliseconds since 1970; a table's in-commit timestamps grow from each version to the next.
        What came before ``first`` counts as made at its instant.
    kept
        So many of them stand beside the state already.
    whole
        Is ``first`` the first version that ever had a time of its own?
    """

    first: int
    millis: tuple[int, ...]
    kept: int = 0
    whole: bool = True

    def at(self, version: int) -> datetime:
        """When a version was made."""
        return from_micros(self.millis[max(version - self.first, 0)] * 1000)

    def of_row(self) -> str:
        """SQL over the table itself: when the commit that added a row was made.

        Spark reads the text once, while it plans: what is left is an array and a place in it.
        """
        listed = string(str(list(self.millis)))
        place = f"greatest(_metadata.row_commit_version - {self.first}, 0)"
        return f"timestamp_millis(get(from_json({listed}, 'array<bigint>'), int({place})))"

    @property
    def new(self) -> Mapping[int, int]:
        """Version and milliseconds of those that are not kept yet."""
        start = self.first + self.kept
        return dict(enumerate(self.millis[self.kept :], start))


def joined(
    kept: Mapping[int, int], read: Mapping[int, int], enabled: int, until: int
) -> CommitTimes | None:
    """The times of the versions up to ``until`` from what is kept and what the log still says.

    A version that neither knows counts as made with the next one that is known. None where nothing
    is known of ``until`` itself.

    >>> joined({}, {4: 70, 6: 90}, 0, 6)
    CommitTimes(first=4, millis=(70, 90, 90), kept=0, whole=False)
    """
    known = {**read, **kept}
    if until not in known:
        return None
    first = min(known)
    times: list[int] = []
    for version in range(until, first - 1, -1):
        times.append(known.get(version, times[-1] if times else 0))
    before = sum(version <= until for version in kept)
    return CommitTimes(first, tuple(reversed(times)), before, first <= enabled)


def lowest_unread(kept: Sequence[int], enabled: int) -> int:
    """The first version whose time has to be looked for in the log."""
    return max(kept) + 1 if kept else enabled
