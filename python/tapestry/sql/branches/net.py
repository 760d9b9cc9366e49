"""A net of differences of instants, implied by conditions (network, section 1).

A conjunct ``x <= y + c`` over columns of timestamps is an edge from x to y of length c. The least
length of a path from x to y is the least c that is known to do: ``r2.ts <= r1.ts + 10 days`` and
``r3.ts <= r2.ts + 10 days`` give ``r3.ts <= r1.ts + 20 days``. The edges of one conjunction say
nothing of another one. Conditions that contradict each other say nothing at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from tapestry.sql.facts.fixed_lengths import base_and_offset, zone_is_fixed
from tapestry.sql.work import spend

Node = tuple[str, str]
"""A column: alias and name."""
Edge = tuple[Node, Node, int]
"""``x <= y + c`` microseconds."""
MOST = 24
"""Columns between which orders are sought; of more nothing is said."""
_SIDES: dict[type[exp.Expr], tuple[bool, bool, int]] = {
    exp.LTE: (True, False, 0),
    exp.LT: (True, False, 1),
    exp.GTE: (False, True, 0),
    exp.GT: (False, True, 1),
    exp.EQ: (True, True, 0),
}
"""Is the left side at most the right one, the right one the left one, and by how much less."""


@dataclass(frozen=True)
class Net:
    """Known differences; ``least[x, y]`` is the least c with ``x <= y + c``."""

    least: Mapping[tuple[Node, Node], int] = field(default_factory=dict)

    @staticmethod
    def of(edges: Iterable[Edge]) -> Net:
        """Return a net of the edges alone, without those that follow from several."""
        least: dict[tuple[Node, Node], int] = {}
        for one, other, length in edges:
            if one != other:
                least[one, other] = min(length, least.get((one, other), length))
        return Net(least)

    def over(self, one: Node, other: Node) -> int | None:
        """Return how many microseconds ``one`` is after ``other`` at most; None: unknown."""
        return 0 if one == other else self.least.get((one, other))


def net_of(edges: Iterable[Edge]) -> Net:
    """The net of some edges: the least lengths of paths (Floyd and Warshall)."""
    least = dict(Net.of(edges).least)
    nodes = list(dict.fromkeys(node for pair in least for node in pair))
    if not nodes or len(nodes) > MOST:
        return Net()
    spend(len(nodes) ** 3 // 8, "orders of instants")
    for via in nodes:
        for one in nodes:
            first = least.get((one, via))
            for other in nodes if first is not None else ():
                second = least.get((via, other))
                if first is None or second is None:
                    continue
                length = first + second
                if one == other:
                    if length < 0:
                        return Net()
                elif length < least.get((one, other), length + 1):
                    least[one, other] = length
    return Net(least)


def edges_in(conditions: Iterable[exp.Expr], zone: str) -> Iterator[Edge]:
    """Yield the edges in conjuncts: comparisons of timestamps of one type, moved by intervals.

    A whole day is 24 hours in a zone without transitions only; elsewhere none is taken off.
    """
    for condition in conditions:
        for compared in _comparisons(condition.unnest()):
            at_most, at_least, less = _SIDES[type(compared)]
            left, before = base_and_offset(compared.this, zone)
            right, after = base_and_offset(compared.expression, zone)
            if not (isinstance(left, exp.Column) and isinstance(right, exp.Column)):
                continue
            if not _of_one_kind(left, right, zone):
                continue
            one, other = (left.table, left.name), (right.table, right.name)
            if at_most:
                yield one, other, after - before - less
            if at_least:
                yield other, one, before - after - less


_NEGATED: dict[type[exp.Expr], type[exp.Binary]] = {
    exp.LTE: exp.GT,
    exp.LT: exp.GTE,
    exp.GTE: exp.LT,
    exp.GT: exp.LTE,
    exp.NEQ: exp.EQ,
}


def _comparisons(condition: exp.Expr) -> Iterator[exp.Expr]:
    if isinstance(condition, exp.Not):
        inner = condition.this.unnest()
        if type(inner) in _NEGATED:
            yield _NEGATED[type(inner)](this=inner.this, expression=inner.expression)
    elif type(condition) in _SIDES:
        yield condition
    elif isinstance(condition, exp.Between) and not condition.args.get("symmetric"):
        low, high = condition.args["low"], condition.args["high"]
        yield exp.GTE(this=condition.this, expression=low)
        yield exp.LTE(this=condition.this, expression=high)


def _of_one_kind(left: exp.Column, right: exp.Column, zone: str) -> bool:
    """Return whether both are timestamps with a zone, or both without in a fixed session zone."""
    if left.is_type("timestamptz") and right.is_type("timestamptz"):
        return True
    return left.is_type("timestamp") and right.is_type("timestamp") and zone_is_fixed(zone)
