"""Does a memory pay? Weighed at the end of an invocation, for what its runs read (network, 3).

How many of a source's rows it would hold is counted among those of the window, which have just
been read. Seconds are estimates: so much a file, and so much a byte of the columns that are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tapestry.quoting import relation_name, timestamp
from tapestry.runs.engine.session import Session
from tapestry.runs.memories.ask import Wish
from tapestry.runs.memories.reasons import (
    DOES_NOT_PAY,
    NOT_MEASURED,
    NOT_SELECTIVE,
    RANGES_PRUNE,
)
from tapestry.runs.memories.wanted import Wanted
from tapestry.runs.sources.describe import arrival_sql
from tapestry.runs.tables.target import look
from tapestry.sql import Scan
from tapestry.sql.look.source_reads import readings
from tapestry.sql.timing import text_of

FILE_SECONDS = 0.007
BYTES_A_SECOND = 150 * 2**20
COMMIT_SECONDS = 0.4
RUNS = 20
"""Within so many runs a memory has to earn what building it costs."""
MOST_SHARE = 0.1
FEW_ROWS = 100
"""From fewer rows of a window no share is told."""


@dataclass(frozen=True)
class Weighed:
    """``reason`` is "" where a memory pays."""

    reason: str
    share: float | None = None
    saved: float | None = None


def weigh(session: Session, wishes: Sequence[Wish]) -> Weighed:
    """Does the memory pay that these wishes, of one signature, are about?"""
    if all(_ranges_prune(wish) for wish in wishes):
        return Weighed(RANGES_PRUNE)
    share = _share(session, wishes)
    if share is None:
        return Weighed(NOT_MEASURED)
    if share > MOST_SHARE:
        return Weighed(NOT_SELECTIVE, share)
    wanted = wishes[0].wanted
    assert wanted is not None
    glance = look(session, wanted.table.name)
    files = 1 if glance is None else glance.files
    saved = sum(_saved(wanted, wish, files, share) for wish in wishes) - COMMIT_SECONDS
    builds = files * FILE_SECONDS + wanted.table.size / BYTES_A_SECOND + COMMIT_SECONDS
    return Weighed("" if RUNS * saved > builds else DOES_NOT_PAY, share, saved)


def _saved(wanted: Wanted, wish: Wish, files: int, share: float) -> float:
    """Seconds that one run of one model saves, before the upkeep."""
    read = max(1, len(wish.use.columns)) / max(1, len(wanted.table.columns))
    source = files * FILE_SECONDS + wanted.table.size * min(1.0, read) / BYTES_A_SECOND
    return source - (FILE_SECONDS + share * wanted.table.size * min(1.0, read) / BYTES_A_SECOND)


def _share(session: Session, wishes: Sequence[Wish]) -> float | None:
    """Of the rows that are new in the window of one of the wishes, those that would be held."""
    for wish in wishes:
        wanted, window = wish.wanted, wish.window
        if wanted is None or window.tau is None:
            continue
        arrival = arrival_sql(wanted.arrival)
        ((rows, held),) = session.rows(
            f"SELECT count(*), count_if({wanted.where})"
            f" FROM {relation_name(wanted.table.name)} VERSION AS OF {wanted.pin.version:d}"
            f" WHERE {arrival} > {timestamp(window.tau)} AND {arrival} <= {timestamp(window.t)}"
        )
        if int(rows) >= FEW_ROWS:
            return int(held) / int(rows)
    return None


def _ranges_prune(wish: Wish) -> bool:
    """Is every reading of a use bounded from below by an instant?"""
    rewriting, window = wish.rewriting, wish.window
    if window.tau is None:
        return False
    # sql: rendered to be read again, never run
    scans = {name: Scan(name, "arrival", "row_id") for name in rewriting.sources}
    statement = rewriting.template(scans, text_of(window.tau), text_of(window.t))
    mine = [one for one in readings(statement, scans) if one.alias == wish.use.alias]
    return bool(mine) and all(one.narrowed for one in mine)
