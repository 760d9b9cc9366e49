"""Reasons why a use of a source is read from no memory: codes and their meanings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

OFF: Final = "OFF"
SMALL_SOURCE: Final = "SMALL_SOURCE"
NO_PREDICATE: Final = "NO_PREDICATE"
COMMIT_TIMES: Final = "COMMIT_TIMES"
NO_ARRIVAL: Final = "NO_ARRIVAL"
DISTRUSTED: Final = "DISTRUSTED"
LATE_ROWS: Final = "LATE_ROWS"
ENDED_ROWS: Final = "ENDED_ROWS"
NOT_BUILT_YET: Final = "NOT_BUILT_YET"
FOREIGN_COMMIT: Final = "FOREIGN_COMMIT"
NOT_APPENDED_ONLY: Final = "NOT_APPENDED_ONLY"
UNREADABLE: Final = "UNREADABLE"
NEWER: Final = "NEWER"
SIDE_UNREAD: Final = "SIDE_UNREAD"
NOT_SELECTIVE: Final = "NOT_SELECTIVE"
RANGES_PRUNE: Final = "RANGES_PRUNE"
DOES_NOT_PAY: Final = "DOES_NOT_PAY"
NOT_MEASURED: Final = "NOT_MEASURED"
WRONG: Final = "WRONG"
UNRECORDED: Final = "UNRECORDED"
RECORDS_UNREAD: Final = "RECORDS_UNREAD"

SPOILT: Final = (FOREIGN_COMMIT, UNRECORDED, NOT_APPENDED_ONLY, UNREADABLE)
"""Reasons to drop a memory: rows that a source has lost are not to live on in a copy of it."""

REASONS: Mapping[str, str] = {
    OFF: "memories are switched off (memories: off, or TAPESTRY_MEMORIES=off)",
    SMALL_SOURCE: "the source has 32 MiB or less: reading all of it costs less",
    NO_PREDICATE: "the query needs all of its rows",
    COMMIT_TIMES: "its rows arrive with their commits, and a copy has other ones",
    NO_ARRIVAL: "a look-up table, whose rows have no arrival",
    DISTRUSTED: "a run of this model that read memories has failed",
    LATE_ROWS: "rows of a source came late, and not both of its tables have a memory to read",
    ENDED_ROWS: "rows of a source have ended, which a stored join does not have",
    NOT_BUILT_YET: "there is none yet: one is weighed at the end of a run",
    FOREIGN_COMMIT: "somebody else wrote to it: it is dropped at the end of the run",
    NOT_APPENDED_ONLY: "its source lost or changed rows, or its log does not reach back far enough",
    UNREADABLE: "its files, or its log, cannot be read",
    NEWER: "all that it holds is newer than what the run reads",
    SIDE_UNREAD: "the memory of one of its tables does not reach back to what it holds",
    NOT_SELECTIVE: "it would hold more than a tenth of the source (OPTIMIZE the source instead)",
    RANGES_PRUNE: "runs read narrow ranges of the source anyway",
    DOES_NOT_PAY: "building and keeping it costs more than it saves",
    NOT_MEASURED: "too few rows were new to tell how many it would hold",
    UNRECORDED: "no run recorded that it built it, as earlier versions did not",
    RECORDS_UNREAD: "what runs recorded of memories (tapestry_memories) cannot be read",
    WRONG: "answers from it were wrong",
}
