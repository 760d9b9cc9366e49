"""Decides at the end of an invocation whether memories pay for what its runs read (network, 3).

The share of a source's rows that a memory would hold is counted among those of the window, which
have just been read. Seconds are estimates: so much a file, and so much a byte of the columns that
are read. Of several memories, one with all rows of the others may serve for all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tapestry.quoting import relation_name, timestamp
from tapestry.runs.engine.session import Session
from tapestry.runs.memories import reasons
from tapestry.runs.memories.ask import MOST_SHARE, MemoryRequest
from tapestry.runs.memories.definition import MemoryDefinition
from tapestry.runs.memories.find import InPlace
from tapestry.runs.memories.wider import serves
from tapestry.runs.query.holding import SMALL
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
TIMES = 4
"""A memory serves a use whose own would be smaller if it has at most so many times its bytes, or
is one that runs read whole (``SMALL``)."""
MOST_COMPARED = 50
"""The maximum number of memories that are compared in pairs."""
FEW_ROWS = 100
"""From fewer rows of a window no share is told."""


@dataclass(frozen=True)
class Weighed:
    """``reason`` is "" where a memory pays."""

    reason: str
    share: float | None = None
    saved: float | None = None


def by_itself(request: MemoryRequest) -> Iterator[MemoryRequest]:
    """Yield a request as it is, or, if a too large memory serves it, as one for its own."""
    if (
        request.own is not None
        and request.found.kept is not None
        and request.found.kept.size > SMALL
    ):
        missing = InPlace(reason=reasons.NOT_BUILT_YET, kept=request.found.kept)
        yield replace(request, wanted=request.own, own=None, found=missing)


def weakest_first(groups: Mapping[str, Sequence[MemoryRequest]]) -> list[str]:
    """Return signatures of memories, each before the memories that it could serve for."""
    if len(groups) > MOST_COMPARED:
        return list(groups)
    wanted = {s: w[0].wanted for s, w in groups.items()}
    serving = {
        s: sum(serves(one, other) for other in wanted.values() if other is not None)
        for s, one in wanted.items()
        if one is not None
    }
    return sorted(groups, key=lambda signature: -serving.get(signature, 0))


def served_too(
    session: Session, mine: Sequence[MemoryRequest], others: Mapping[str, Sequence[MemoryRequest]]
) -> dict[str, Sequence[MemoryRequest]]:
    """Return the other requests that the memory of ``mine`` would serve at little more cost."""
    wanted = mine[0].wanted
    if wanted is None or len(others) > MOST_COMPARED:
        return {}
    able = {s: w for s, w in others.items() if w[0].wanted and serves(wanted, w[0].wanted)}
    share, size = _share(session, mine) if able else None, wanted.side.table.size
    found: dict[str, Sequence[MemoryRequest]] = {}
    for signature, requests in able.items():
        theirs = None if share is None else _share(session, requests)
        if share is None or theirs is None:
            continue
        if share * size <= max(SMALL, TIMES * theirs * size):
            found[signature] = requests
    return found


def weigh(
    session: Session, mine: Sequence[MemoryRequest], others: Sequence[MemoryRequest] = ()
) -> Weighed:
    """Return whether the memory of these requests, of one signature, pays, with other uses."""
    requests = (*mine, *others)
    if all(_ranges_prune(request) for request in requests):
        return Weighed(reasons.RANGES_PRUNE)
    share = _share(session, mine)
    if share is None:
        return Weighed(reasons.NOT_MEASURED)
    if share > MOST_SHARE:
        return Weighed(reasons.NOT_SELECTIVE, share)
    wanted = requests[0].wanted
    assert wanted is not None
    table = wanted.side.table
    glance = look(session, table.name)
    files = 1 if glance is None else glance.files
    saved = sum(_saved(wanted, request, files, share) for request in requests) - COMMIT_SECONDS
    builds = files * FILE_SECONDS + table.size / BYTES_A_SECOND + COMMIT_SECONDS
    return Weighed("" if RUNS * saved > builds else reasons.DOES_NOT_PAY, share, saved)


def _saved(wanted: MemoryDefinition, request: MemoryRequest, files: int, share: float) -> float:
    """Return the seconds that one run of one model saves, before the upkeep."""
    table = wanted.side.table
    read = min(1.0, max(1, len(request.use.columns)) / max(1, len(table.columns)))
    held = share * table.size
    now = files * FILE_SECONDS + table.size * read / BYTES_A_SECOND
    if request.found.kept is not None:  # it reads a memory of more rows
        size = request.found.kept.size
        if size <= max(SMALL, TIMES * held):
            return 0.0
        now = FILE_SECONDS + size * read / BYTES_A_SECOND
    return now - (FILE_SECONDS + held * read / BYTES_A_SECOND)


def _share(session: Session, requests: Sequence[MemoryRequest]) -> float | None:
    """Return the share of a request's new rows in its window that the memory would hold."""
    for request in requests:
        wanted, window = request.wanted, request.window
        if wanted is None or window.tau is None:
            continue
        side = wanted.side
        arrival = arrival_sql(side.arrival)
        ((rows, held),) = session.rows(
            f"SELECT count(*), count_if({wanted.where})"
            f" FROM {relation_name(side.table.name)} VERSION AS OF {side.pin.version:d}"
            f" WHERE {arrival} > {timestamp(window.tau)} AND {arrival} <= {timestamp(window.t)}"
        )
        if int(rows) >= FEW_ROWS:
            return int(held) / int(rows)
    return None


def _ranges_prune(request: MemoryRequest) -> bool:
    """Return whether every reading of a use is bounded from below by an instant."""
    rewriting, window = request.rewriting, request.window
    if window.tau is None:
        return False
    # sql: rendered to be read again, never run
    scans = {name: Scan(name, "arrival", "row_id") for name in rewriting.sources}
    statement = rewriting.template(scans, text_of(window.tau), text_of(window.t))
    mine = [one for one in readings(statement, scans) if one.alias == request.use.alias]
    return bool(mine) and all(one.narrowed for one in mine)
