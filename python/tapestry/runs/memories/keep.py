"""Builds, updates and drops memories at the end of an invocation: no run waits for one."""

from __future__ import annotations

import logging
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from tapestry.runs.engine.session import Session
from tapestry.runs.memories import reasons
from tapestry.runs.memories.ask import MemoryRequest
from tapestry.runs.memories.choose import by_itself, served_too, weakest_first, weigh
from tapestry.runs.memories.definition import MemoryDefinition
from tapestry.runs.memories.find import InPlace, all_rows, new_rows
from tapestry.runs.memories.log import Deed, MemoryLog
from tapestry.runs.memories.state import MemoryState, look_at, reaches
from tapestry.runs.memories.survey import collect
from tapestry.runs.memories.write import append, create, drop, due, vacuum

logger = logging.getLogger(__name__)

LOOKED = (reasons.NOT_BUILT_YET, reasons.NEWER, reasons.SIDE_UNREAD, *reasons.SPOILT)
"""Why a run that looked for a memory read none."""
FLUSHES = 50
"""So many flushes leave so many small files, and commits for every run to look at: then a memory
is built anew from itself."""


def keep_memories(
    session: Session, requests: Sequence[MemoryRequest], invocation_id: str
) -> tuple[Deed, ...]:
    """Do what is due for the requested memories; a failure is logged and harms nothing.

    Those of two sides come last: they are made of those of each.
    """
    singles: dict[str, list[MemoryRequest]] = {}
    pairs: dict[str, list[MemoryRequest]] = {}
    for request in requests:
        if request.wanted is None or not (request.found.reason in LOOKED or request.found.relation):
            continue
        if request.pair is not None:
            pairs.setdefault(request.signature, []).append(request)
            continue
        for one in (request, *by_itself(request)):
            singles.setdefault(one.signature, []).append(one)
    if not singles and not pairs:
        return ()
    schema, log = next((r.wanted.schema, r.log) for r in requests if r.wanted is not None)
    undecided = [s for s, same in singles.items() if _undecided(same)]
    left = log.left_lately(session, undecided) if undecided else {}
    deeds: list[Deed] = []
    unwritten: list[Deed] = []
    of_pairs = (_all_of(session, same) for same in pairs.values())
    for done in chain(_of_singles(session, singles, left), of_pairs):
        deeds += done
        unwritten += done
        if any(deed.action == "build" for deed in done):  # nobody believes it before
            log.append_deeds(session, invocation_id, unwritten)
            unwritten.clear()
    if any(deed.action in ("build", "drop") for deed in deeds):
        _collect(session, schema)
    log.append_deeds(session, invocation_id, unwritten)
    return tuple(deeds)


def _of_singles(
    session: Session, by_signature: Mapping[str, Sequence[MemoryRequest]], left: Container[str]
) -> Iterator[list[Deed]]:
    """Do what is due for memories of single sources; one built may serve other requests."""
    open_ = {s: w for s, w in by_signature.items() if s not in left and _undecided(w)}
    served: set[str] = set()
    for signature in weakest_first(by_signature):
        if signature in served:
            continue
        same, others = by_signature[signature], dict[str, Sequence[MemoryRequest]]()
        if not same[0].found.relation and signature not in left:
            rest = {s: w for s, w in open_.items() if s != signature and s not in served}
            others = served_too(session, same, rest)
        deeds = _all_of(session, same, signature in left, list(chain(*others.values())))
        if any(deed.action == "build" for deed in deeds):
            served |= others.keys()
        yield deeds


def _all_of(
    session: Session,
    same: Sequence[MemoryRequest],
    left: bool = False,
    others: Sequence[MemoryRequest] = (),
) -> list[Deed]:
    """Do what is due for one memory's requests; ``others``: it would serve them, too."""
    newest = sorted(same, key=_versions, reverse=True)
    models = tuple(sorted({request.model for request in (*same, *others)}))
    try:
        return [replace(one, models=models) for one in _kept(session, newest, left, others)]
    except Exception as error:
        name = same[0].wanted.name if same[0].wanted is not None else ""
        logger.warning("the memory %s was not kept: %s", name, error)
        return []


def _collect(session: Session, schema: str) -> None:
    """Drop memories that nobody uses after some were made or dropped; a failure harms nothing."""
    try:
        for gone in collect(session, schema):
            logger.info("the memory %s was dropped: nobody uses it", gone.name)
    except Exception as error:
        logger.warning("unused memories were not looked for: %s", error)


def _undecided(same: Sequence[MemoryRequest]) -> bool:
    """Return whether it has to be weighed if the memory pays."""
    return not any(request.named or request.found.relation for request in same)


def _versions(request: MemoryRequest) -> tuple[int, ...]:
    return () if request.wanted is None else tuple(v for v, _ in request.wanted.read_at)


def _kept(
    session: Session, same: Sequence[MemoryRequest], left: bool, others: Sequence[MemoryRequest]
) -> list[Deed]:
    """Do what is due for one memory; ``left``: it was found lately not to pay."""
    wanted, found, log = same[0].wanted, same[0].found, same[0].log
    assert wanted is not None
    if found.relation:
        return _brought_up(session, wanted, found, log)
    if found.reason in (reasons.NEWER, reasons.SIDE_UNREAD) and found.kept is not None:
        behind = reaches(wanted.read_at, found.kept.newest.held)
        return flush(session, wanted, found.kept, log) if behind else []
    deeds = [drop(session, wanted, found.reason)] if found.reason in reasons.SPOILT else []
    if left:
        return deeds
    if not _undecided(same):
        return [*deeds, build(session, wanted, log)]
    if all(request.window.tau is None for request in same):
        return deeds
    weighed = weigh(session, same, others)
    if weighed.reason:
        leave = Deed("leave", wanted, 0.0, weighed.reason, weighed.share, weighed.saved)
        return [*deeds, leave]
    built = build(session, wanted, log)
    return [*deeds, replace(built, share=weighed.share, saved=weighed.saved)]


def _brought_up(
    session: Session, wanted: MemoryDefinition, found: InPlace, log: MemoryLog
) -> list[Deed]:
    """Do what is due for a memory that is read."""
    kept = found.kept
    if kept is None or not found.new or not due(wanted, kept):
        return []
    if kept.newest.n > FLUSHES:
        deeds = [create(session, wanted, f"SELECT * FROM {found.relation}")]
        vacuum(session, wanted)
        return deeds
    view = found.view if found.since == kept.newest else ""
    return flush(session, wanted, kept, log, view)


def build(session: Session, wanted: MemoryDefinition, log: MemoryLog) -> Deed:
    """Make the memory of its sources at their pins."""
    return create(session, wanted, all_rows(session, wanted, log))


def flush(
    session: Session, wanted: MemoryDefinition, kept: MemoryState, log: MemoryLog, view: str = ""
) -> list[Deed]:
    """Add the new rows, once; ``view``: the view that holds them."""
    new: tuple[str, ...] | str = (f"SELECT * FROM {view}",)
    if not view:
        new = new_rows(session, wanted, kept.newest.held, log, anyway=True)
    return append(session, wanted, kept, new) if new and not isinstance(new, str) else []


def unread(
    requests: Iterable[MemoryRequest], those: Collection[MemoryRequest], reason: str
) -> list[MemoryRequest]:
    """Return the requests of an invocation, with ``those`` not granted in the end."""
    nothing = InPlace(reason=reason)
    return [replace(one, found=nothing) if one in those else one for one in requests]


def distrust(session: Session, requests: Iterable[MemoryRequest]) -> tuple[str, ...]:
    """Drop the memories that a run with wrong answers has read; return their names."""
    read = {w.wanted.name: w.wanted for w in requests if w.wanted is not None and w.found.relation}
    for wanted in read.values():
        if not isinstance(look_at(session, wanted.name), str):
            drop(session, wanted, reasons.WRONG)
    return tuple(sorted(read))
