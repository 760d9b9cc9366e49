"""Lists the conditions inferred for single tables, with their reasons, for ``explain``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tapestry.quoting import remark
from tapestry.sql.arms import Part
from tapestry.sql.ir import Conjunction, Inferred, SourceTable
from tapestry.sql.write import build


def inferences(parts: Iterable[Part]) -> tuple[str, ...]:
    """A line for each inferred condition, with the conditions that imply it; each once."""
    blocks = [block for part in parts for block in part.blocks]
    found = [one for block in blocks for each in block.disjuncts for one in _inferred(each)]
    return tuple(dict.fromkeys(map(_line, found)))


def _inferred(conjunction: Conjunction) -> Iterator[Inferred]:
    yield from conjunction.inferred
    for table in conjunction.tables:
        if isinstance(table, SourceTable):
            yield from table.inferred
    for exists in conjunction.exists:
        yield from _inferred(exists.inner)


def _line(one: Inferred) -> str:
    because = " AND ".join(build.operand(each).sql("spark") for each in one.because)
    return remark(f"{one.condition.sql('spark')}   follows from   {because}")
