"""Added files by the version in which they still stand: a compaction takes a file away.

Where few stretches lie between compactions the rows of added files are read at few versions.
"""

from __future__ import annotations

from collections.abc import Sequence

from tapestry.runs.sources.history import SourceCommit

SEGMENTS = 8
"""More stretches between compactions than this are compared as bags instead."""


def stretches_of(
    until: int, commits: Sequence[SourceCommit], candidates: Sequence[SourceCommit]
) -> dict[int, list[str]]:
    """For each file that was added with early rows a version up to ``until`` that still has it:
    the last one before the next compaction."""
    compactions = [commit.version for commit in commits if commit.kind == "compaction"]
    stretches: dict[int, list[str]] = {}
    for commit in candidates:
        later = [version for version in compactions if version > commit.version]
        version = min(later) - 1 if later else until
        stretches.setdefault(version, []).extend(commit.late_files)
    return stretches
