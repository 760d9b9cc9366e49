"""The new answers of a run, read from memories where there are some."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tapestry.runs.kinds.continuous.late.examine import Examination
from tapestry.runs.kinds.continuous.late.late_pairs import scan_with_late
from tapestry.runs.kinds.continuous.window.new_answers import JoinedScan, NewAnswers, UseScan
from tapestry.runs.memories.ask import MemoryRequest, Untimely
from tapestry.runs.memories.find import InPlace, scan_of_join
from tapestry.sql.look.joined_uses import JoinedUse
from tapestry.sql.scan import JoinScan


def untimely(found: Mapping[str, Examination]) -> Untimely:
    """The sources rows of which came late, and those rows of which have ended."""
    late = (name for name, one in found.items() if one.scan.late)
    return Untimely(frozenset(late), frozenset(name for name, one in found.items() if one.ends))


def over_memories(
    answers: NewAnswers, requests: Sequence[MemoryRequest], found: Mapping[str, Examination]
) -> NewAnswers:
    """The same, which reads from memories what there are memories for; no use from two joins."""
    own = {one.use.alias: one.found for one in requests if one.pair is None}
    uses: dict[str, UseScan] = {}
    joins: list[JoinedScan] = []
    taken: set[str] = set()
    for request in requests:
        if request.wanted is None or not request.found.relation:
            continue
        if request.pair is not None:
            if taken.isdisjoint(request.aliases):
                taken.update(request.aliases)
                scan = _scan_of(request, request.pair, own, found)
                joins.append(JoinedScan(request.pair, scan))
            continue
        use, kept = request.use, request.found.kept
        if (reading := found[use.source].reading) is not None:
            table = replace(
                request.wanted.side.table,
                remembered=request.found.relation,
                size=kept.size if kept is not None else 0,
            )
            uses[use.alias] = UseScan(use.source, use.conditions, reading.of(table))
    return replace(answers, uses=uses, pairs=tuple(joins))


def _scan_of(
    request: MemoryRequest,
    pair: JoinedUse,
    own: Mapping[str, InPlace],
    found: Mapping[str, Examination],
) -> JoinScan:
    """How a stored join is read; with late rows, beside the memories of its sides."""
    left, right, wanted = pair.left, pair.right, request.wanted
    assert wanted is not None
    if not (found[left.source].scan.late or found[right.source].scan.late):
        return scan_of_join(wanted, request.found.relation)
    readings = found[left.source].reading, found[right.source].reading
    assert readings[0] is not None
    assert readings[1] is not None
    rows = own[left.alias].relation, own[right.alias].relation
    return scan_with_late(wanted, request.found.relation, rows, (readings[0], readings[1]))
