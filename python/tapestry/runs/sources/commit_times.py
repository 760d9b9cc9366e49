"""The times of a table's commits, at which its rows arrive (``arrival: commit``).

Row tracking says of every row which version added it, whatever was compacted since; the in-commit
timestamp says when that version was made. It stands in the log, which Delta cleans up, so the times
that a run has read there are kept beside the state.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import count

from tapestry.instants import from_micros
from tapestry.quoting import string


@dataclass(frozen=True)
class CommitTimes:
    """The instants of the versions from ``first`` on, without a gap.

    millis
        Milliseconds since 1970; a table's in-commit timestamps grow from each version to the next.
        Earlier versions than ``first`` count as made at its instant.
    new
        Versions whose times are not kept beside the state yet.
    lost
        Whether times were kept there that are now unknown.
    """

    first: int
    millis: tuple[int, ...]
    new: tuple[int, ...] = ()
    lost: bool = False

    def at(self, version: int) -> datetime:
        """Return when a version was made."""
        return from_micros(self.millis[max(version - self.first, 0)] * 1000)

    def of_row(self) -> str:
        """Return SQL over the table itself: when the commit that added a row was made.

        Spark reads the text once, while it plans: the result is an array and a place in it.
        """
        listed = string(str(list(self.millis)))
        version = "_metadata.row_commit_version"
        place = f"IF({version} < {self.first}, 0, {version} - {self.first})"  # NULL for NULL
        return f"timestamp_millis(get(from_json({listed}, 'array<bigint>'), int({place})))"

    def to_keep(self) -> list[list[int]]:
        """Return version and milliseconds of the times that are not kept yet."""
        return [[version, self.millis[version - self.first]] for version in self.new]


def joined(
    kept: Mapping[int, int], read: Mapping[int, int], enabled: int, until: int
) -> CommitTimes | None:
    """Return the times of versions up to ``until`` from kept ones and those still in the log.

    A version that is in neither counts as made with the next one that is known. None where
    ``until`` itself is unknown.

    They are ``lost`` where nothing is kept of a log that was cleaned up, or a version between
    others that are kept is not: an earlier run knew more.

    >>> joined({4: 70}, {6: 90}, 0, 6)
    CommitTimes(first=4, millis=(70, 90, 90), new=(5, 6), lost=False)
    """
    known = {**read, **kept}
    if until not in known:
        return None
    first = min(known)
    times: list[int] = []
    for version in range(until, first - 1, -1):
        times.append(known.get(version, times[-1] if times else 0))
    new = tuple(version for version in range(first, until + 1) if version not in kept)
    holes = any(version not in read and version < max(kept) for version in new) if kept else False
    return CommitTimes(first, tuple(reversed(times)), new, holes or (not kept and first > enabled))


def lowest_unread(kept: Collection[int], enabled: int) -> int:
    """Return the first version whose time has to be looked for in the log."""
    if not kept:
        return enabled
    there = set(kept)
    return next(version for version in count(min(there)) if version not in there)
