"""Groups added files by the version in which they still stand: a compaction removes files.

Where there are few compactions the rows of added files are read at few versions.
"""

from __future__ import annotations

from collections.abc import Sequence

from tapestry.runs.sources.history import SourceCommit

SEGMENTS = 8
"""More stretches between compactions than this are compared as bags instead."""


def stretches_of(
    until: int, commits: Sequence[SourceCommit], candidates: Sequence[SourceCommit]
) -> dict[int, list[str]]:
    """Return, by version up to ``until``, the added files with early rows that it still has.

    It is the last version before the next compaction.
    """
    compactions = [commit.version for commit in commits if commit.kind == "compaction"]
    stretches: dict[int, list[str]] = {}
    for commit in candidates:
        later = [version for version in compactions if version > commit.version]
        version = min(later) - 1 if later else until
        stretches.setdefault(version, []).extend(commit.late_files)
    return stretches
