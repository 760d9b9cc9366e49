"""Build, bring up to date and drop memories, at the end of an invocation: no run waits for one."""

from __future__ import annotations

import logging
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from tapestry.runs.engine.session import Session
from tapestry.runs.memories.ask import Wish
from tapestry.runs.memories.choose import by_itself, served_too, weakest_first, weigh
from tapestry.runs.memories.joined import JoinWish, WantedJoin, all_pairs, new_pairs
from tapestry.runs.memories.log import Deed, left_lately, write_deeds
from tapestry.runs.memories.look import AnyWish, HeldMemory, InPlace, look_at, new_rows, reaches
from tapestry.runs.memories.reasons import (
    NEWER,
    NOT_BUILT_YET,
    SIDE_UNREAD,
    SPOILT,
    WRONG,
)
from tapestry.runs.memories.survey import collect
from tapestry.runs.memories.wanted import Wanted
from tapestry.runs.memories.write import append, create, drop, due, vacuum
from tapestry.runs.sources.added_since import remembered_columns

logger = logging.getLogger(__name__)

LOOKED = (NOT_BUILT_YET, NEWER, SIDE_UNREAD, *SPOILT)
"""Why a run that looked for a memory read none."""
FLUSHES = 50
"""So many flushes leave so many small files, and commits for every run to look at: then a memory
is built anew from itself."""


def keep_memories(
    session: Session, wishes: Sequence[AnyWish], invocation_id: str
) -> tuple[Deed, ...]:
    """Do for the memories that were wished for what is due; a failure is told and harms nothing.

    Those of joins come last: they are kept by those of their sides.
    """
    by_signature: dict[str, list[Wish]] = {}
    of_joins: dict[str, list[JoinWish]] = {}
    for wish in wishes:
        if wish.wanted is None or not (wish.found.reason in LOOKED or not wish.found.reason):
            continue
        if isinstance(wish, JoinWish):
            of_joins.setdefault(wish.wanted.signature, []).append(wish)
        elif isinstance(wish, Wish):
            for one in (wish, *by_itself(wish)):
                by_signature.setdefault(one.signature, []).append(one)
    if not by_signature and not of_joins:
        return ()
    schema = next(w.wanted.schema for w in wishes if w.wanted is not None)
    undecided = [s for s, same in by_signature.items() if _undecided(same)]
    left = left_lately(session, schema, undecided) if undecided else {}
    deeds: list[Deed] = []
    unwritten: list[Deed] = []
    of_all = (_all_of(session, joins) for joins in of_joins.values())
    for done in chain(_of_singles(session, by_signature, left), of_all):
        deeds += done
        unwritten += done
        if any(deed.action == "build" for deed in done):  # nobody believes it before
            write_deeds(session, schema, invocation_id, unwritten)
            unwritten.clear()
    if any(deed.action in ("build", "drop") for deed in deeds):
        _collect(session, schema)
    write_deeds(session, schema, invocation_id, unwritten)
    return tuple(deeds)


def _of_singles(
    session: Session, by_signature: Mapping[str, Sequence[Wish]], left: Container[str]
) -> Iterator[list[Deed]]:
    """What was done for memories of single sources; one that is built may serve other wishes."""
    open_ = {s: w for s, w in by_signature.items() if s not in left and _undecided(w)}
    served: set[str] = set()
    for signature in weakest_first(by_signature):
        if signature in served:
            continue
        same, others = by_signature[signature], dict[str, Sequence[Wish]]()
        if not same[0].found.relation and signature not in left:
            rest = {s: w for s, w in open_.items() if s != signature and s not in served}
            others = served_too(session, same, rest)
        deeds = _all_of(session, same, signature in left, list(chain(*others.values())))
        if any(deed.action == "build" for deed in deeds):
            served |= others.keys()
        yield deeds


def _all_of(
    session: Session, same: Sequence[AnyWish], left: bool = False, others: Sequence[Wish] = ()
) -> list[Deed]:
    """What was done for the wishes of one memory; ``others``: it would serve them, too."""
    newest = sorted(same, key=_versions, reverse=True)
    models = tuple(sorted({wish.model for wish in (*same, *others)}))
    try:
        singles = [wish for wish in newest if isinstance(wish, Wish)]
        joins = [wish for wish in newest if isinstance(wish, JoinWish)]
        done = _kept(session, singles, left, others) if singles else _kept_join(session, joins)
        return [replace(one, models=models) for one in done]
    except Exception as error:
        name = same[0].wanted.name if same[0].wanted is not None else ""
        logger.warning("the memory %s was not kept: %s", name, error)
        return []


def _collect(session: Session, schema: str) -> None:
    """Where memories are made or dropped, drop those that nobody uses; a failure harms nothing."""
    try:
        for gone in collect(session, schema):
            logger.info("the memory %s was dropped: nobody uses it", gone.name)
    except Exception as error:
        logger.warning("unused memories were not looked for: %s", error)


def _undecided(same: Sequence[Wish]) -> bool:
    """Is it to be weighed whether it pays?"""
    return not any(wish.named or wish.found.relation for wish in same)


def _versions(wish: AnyWish) -> tuple[int, ...]:
    return () if wish.wanted is None else tuple(version for version, _ in wish.wanted.read_at)


def _kept(session: Session, same: Sequence[Wish], left: bool, others: Sequence[Wish]) -> list[Deed]:
    """What is due for one memory; ``left``: it was found lately not to pay."""
    wanted, found = same[0].wanted, same[0].found
    assert wanted is not None
    deeds: list[Deed] = []
    if found.reason in SPOILT:
        deeds.append(drop(session, wanted, found.reason))
    if found.relation:
        if found.kept is not None and found.new and due(wanted, found.kept):
            if found.kept.newest.n > FLUSHES:
                deeds.append(build(session, wanted, found.relation))
                vacuum(session, wanted)
            else:
                view = found.view if found.since == found.kept.newest else ""
                deeds += flush(session, wanted, found.kept, view)
    elif found.reason == NEWER or left:
        return deeds
    elif not _undecided(same):
        deeds.append(build(session, wanted))
    elif any(wish.window.tau is not None for wish in same):
        weighed = weigh(session, same, others)
        if weighed.reason:
            deeds.append(Deed("leave", wanted, 0.0, weighed.reason, weighed.share, weighed.saved))
        else:
            built = build(session, wanted)
            deeds.append(replace(built, share=weighed.share, saved=weighed.saved))
    return deeds


def _kept_join(session: Session, same: Sequence[JoinWish]) -> list[Deed]:
    """What is due for one stored join: it is named, and built whether it pays or not."""
    wanted, found = same[0].wanted, same[0].found
    assert wanted is not None
    kept = found.kept
    if found.relation:
        if kept is None or not found.new or not due(wanted, kept):
            return []
        if kept.newest.n > FLUSHES:
            deeds = [create(session, wanted, f"SELECT * FROM {found.relation}")]
            vacuum(session, wanted)
            return deeds
        if found.view and found.since == kept.newest:
            return append(session, wanted, kept, [f"SELECT * FROM {found.view}"])
        return flush_join(session, wanted, kept)
    if found.reason in (NEWER, SIDE_UNREAD) and kept is not None:
        behind = reaches(wanted.read_at, kept.newest.held)
        return flush_join(session, wanted, kept) if behind else []
    dropped = [drop(session, wanted, found.reason)] if found.reason in SPOILT else []
    return [*dropped, create(session, wanted, all_pairs(session, wanted))]


def build(session: Session, wanted: Wanted, held: str = "") -> Deed:
    """Make the memory of its source at its pin; of ``held``, a relation that has what it is to
    hold, where there is one."""
    table = wanted.table
    source = f"{table.at(wanted.pin.version)} AS _tap_s"
    rows = held or f"(SELECT {remembered_columns(table)} FROM {source})"
    return create(session, wanted, f"SELECT * FROM {rows} WHERE {wanted.where}")


def flush(session: Session, wanted: Wanted, kept: HeldMemory, view: str = "") -> list[Deed]:
    """Add what came in since, once; ``view``: it is held there."""
    new = (f"SELECT * FROM {view}",) if view else new_rows(session, wanted, kept.newest.version)
    return append(session, wanted, kept, new) if new else []


def flush_join(session: Session, wanted: WantedJoin, kept: HeldMemory) -> list[Deed]:
    """Add the pairs that came to be since, once."""
    new = new_pairs(session, wanted, kept.newest.held, anyway=True)
    return append(session, wanted, kept, new) if new and not isinstance(new, str) else []


def unread(wishes: Iterable[AnyWish], those: Collection[AnyWish], reason: str) -> list[AnyWish]:
    """The wishes of an invocation, where ``those`` were granted nothing in the end."""
    nothing = InPlace(reason=reason)
    return [wish.reading(nothing) if wish in those else wish for wish in wishes]


def distrust(session: Session, wishes: Iterable[AnyWish]) -> tuple[str, ...]:
    """Drop the memories that a run has read whose answers were wrong; their names."""
    read = {w.wanted.name: w.wanted for w in wishes if w.wanted is not None and w.found.relation}
    for wanted in read.values():
        if not isinstance(look_at(session, wanted.name), str):
            drop(session, wanted, WRONG)
    return tuple(sorted(read))
