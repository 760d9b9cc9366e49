"""The new answers of a run, read from memories where there are some."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from tapestry.runs.kinds.continuous.late.examine import Examination
from tapestry.runs.kinds.continuous.window.new_answers import JoinedScan, NewAnswers, UseScan
from tapestry.runs.memories.ask import Untimely, Wish
from tapestry.runs.memories.joined import JoinWish, WantedJoin, scan_of_join, scan_with_late
from tapestry.runs.memories.look import AnyWish, InPlace
from tapestry.sql.scan import JoinScan


def untimely(found: Mapping[str, Examination]) -> Untimely:
    """The sources rows of which came late, and those rows of which have ended."""
    late = (name for name, one in found.items() if one.scan.late)
    return Untimely(frozenset(late), frozenset(name for name, one in found.items() if one.ends))


def over_memories(
    answers: NewAnswers, wishes: Iterable[AnyWish], found: Mapping[str, Examination]
) -> NewAnswers:
    """The same, which reads from memories what there are memories for; no use from two joins."""
    listed = tuple(wishes)
    own = {wish.use.alias: wish.found for wish in listed if isinstance(wish, Wish)}
    uses: dict[str, UseScan] = {}
    joins: list[JoinedScan] = []
    taken: set[str] = set()
    for wish in listed:
        if wish.wanted is None or not wish.found.relation:
            continue
        if isinstance(wish, JoinWish):
            if taken.isdisjoint(wish.use.aliases):
                taken.update(wish.use.aliases)
                joins.append(JoinedScan(wish.use, _scan_of(wish, wish.wanted, own, found)))
        elif isinstance(wish, Wish) and (reading := found[wish.use.source].reading) is not None:
            kept = wish.found.kept
            table = replace(
                wish.wanted.table,
                remembered=wish.found.relation,
                size=kept.size if kept is not None else 0,
            )
            scan = reading.of(table)
            uses[wish.use.alias] = UseScan(wish.use.source, wish.use.conditions, scan)
    return replace(answers, uses=uses, pairs=tuple(joins))


def _scan_of(
    wish: JoinWish, wanted: WantedJoin, own: Mapping[str, InPlace], found: Mapping[str, Examination]
) -> JoinScan:
    """How a stored join is read; with late rows, beside the memories of its sides."""
    left, right = wish.use.left, wish.use.right
    if not (found[left.source].scan.late or found[right.source].scan.late):
        return scan_of_join(wanted, wish.found.relation)
    readings = found[left.source].reading, found[right.source].reading
    assert readings[0] is not None
    assert readings[1] is not None
    rows = own[left.alias].relation, own[right.alias].relation
    return scan_with_late(wanted, wish.found.relation, rows, (readings[0], readings[1]))
