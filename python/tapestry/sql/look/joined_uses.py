"""The pairs of rows that a query needs of two uses of sources, for stored joins (network, 3).

A conjunction that joins both keeps a pair of their rows only if each condition on the two holds of
it, and each condition on either. So a relation of the pairs for which those hold, wherever both
stand, gives the same answers in the place of both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sqlglot import exp

from tapestry.sql.arms import Lifted, OuterArm
from tapestry.sql.branches.selects import aliases_of, on_of
from tapestry.sql.choose_strategy import strategy_for
from tapestry.sql.ir import Conjunction
from tapestry.sql.look.uses_of_sources import Use, bare_text
from tapestry.sql.scan import LEFT, RIGHT


@dataclass(frozen=True)
class JoinedUse:
    """Two uses that a query joins.

    conditions
        SQL over the columns of both, whose names begin with ``LEFT`` and ``RIGHT``; each is implied
        by the query for every pair that matters; sorted.
    """

    left: Use
    right: Use
    conditions: tuple[str, ...]

    @property
    def aliases(self) -> tuple[str, str]:
        """The aliases of the two uses in the whole query."""
        return self.left.alias, self.right.alias


def joined_use(arms: Iterable[OuterArm], left: Use, right: Use) -> JoinedUse | None:
    """Return how two uses are joined; None unless an equality joins them wherever a pair is read.

    A pair can be read where derivations begin at their bounds; other strategies read each by
    itself.
    """
    agreed: set[str] | None = None
    equal: set[str] = set()
    for conjunction in _conjunctions(arms):
        inner = {table.alias for table in conjunction.tables if on_of(table) is None}
        if not {left.alias, right.alias} <= inner:
            continue
        here = dict(_conditions(conjunction, left.alias, right.alias))
        equal |= {text for text, equals in here.items() if equals}
        agreed = set(here) if agreed is None else agreed & set(here)
    if not agreed or not agreed & equal:
        return None
    return JoinedUse(left, right, tuple(sorted(agreed)))


def _conjunctions(arms: Iterable[OuterArm]) -> Iterator[Conjunction]:
    for arm in arms:
        for block in () if isinstance(arm, Lifted) else arm.blocks:
            if strategy_for(block).at_bounds:
                yield from block.disjuncts


def _conditions(conjunction: Conjunction, left: str, right: str) -> Iterator[tuple[str, bool]]:
    """The conditions on just these two, as text, and whether each is an equality of them."""
    sides = {left: LEFT, right: RIGHT}
    for condition in conjunction.conditions:
        if aliases_of(condition) != {left, right}:
            continue
        text = bare_text(condition, lambda column: sides[column.table] + column.name)
        if text:
            yield text, isinstance(condition, exp.EQ) and _across(condition)


def _across(equality: exp.EQ) -> bool:
    """Return whether an equality has exactly one table on each of its sides."""
    return len(aliases_of(equality.this)) == len(aliases_of(equality.expression)) == 1
