"""Reports the memories of a query: which stand for its tables, or why none does."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tapestry.runs.engine.session import Session
from tapestry.runs.memories.ask import MemoryRequest
from tapestry.runs.memories.reasons import NOT_BUILT_YET, REASONS


@dataclass(frozen=True)
class MemoryUse:
    """One use of a source, or two that are read joined, with both names.

    conditions
        SQL over the source's columns: the rows that the query can need.
    memory
        The table that a run reads them from; "" for none, and ``reason`` and ``why`` say why.
    size
        Bytes of that table.
    behind
        Versions of the source that it lacks.
    """

    alias: str
    source: str
    conditions: tuple[str, ...]
    memory: str = ""
    reason: str = ""
    why: str = ""
    size: int | None = None
    behind: int | None = None


def memory_uses(session: Session, requests: Iterable[MemoryRequest]) -> tuple[MemoryUse, ...]:
    """Return the uses of a query as its next run would read them."""
    listed = tuple(requests)
    open_ = [one for one in listed if one.wanted and one.found.reason == NOT_BUILT_YET]
    left = open_[0].log.left_lately(session, [w.signature for w in open_]) if open_ else {}
    found: list[MemoryUse] = []
    for request in listed:
        wanted, kept, reason = request.wanted, request.found.kept, request.found.reason
        if wanted is not None and reason == NOT_BUILT_YET and not request.named:
            reason = left.get(wanted.signature, reason)
        name = wanted.name if wanted is not None and request.found.relation else ""
        behind, size = None, None
        if name and wanted is not None and kept is not None:
            held, size = kept.newest.held, kept.size
            versions = zip(wanted.read_at, held, strict=True)
            behind = max(0, *(now - then for (now, _), (then, _) in versions))
        why = REASONS.get(reason, "")
        found.append(MemoryUse(*request.told, name, reason, why, size, behind))
    return tuple(found)
