"""Give both sides of a set operation the types that Spark widens them to.

Spark casts the rows of both sides, as they come out, to a common type. A derived table is merged
into the block that uses it, arm by arm, so that each arm must bring the cast along: a date beside
a timestamp is compared, printed and hashed as a timestamp. Sound because it is the same cast at the
same place: behind what a side counts by value, and for EXCEPT, INTERSECT and UNION, which ask for
values only, in each row of a side that has it.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from tapestry.errors import Refusal
from tapestry.sql.facts.common_types import as_type, common_type, shape_of, type_of
from tapestry.sql.facts.values import Names, arms_of, counted, one, union_all, universe_of
from tapestry.sql.ir import Arm, Bag, SetQuery, UnionAll
from tapestry.sql.work import size, spend

Side = Bag | SetQuery | UnionAll
_VALUE = 8
"""Units for a value whose type is found out."""
_A_UNIT = 20
"""How many values whose types are known a unit compares."""


class ValueTypes:
    """The type of each value, found out once: a UNION of many arms asks again for each arm.

    The kind of a value whose type is not certain is its shape: two of one shape are of one type.
    """

    def __init__(self) -> None:
        self.known: dict[int, tuple[exp.Expr, str]] = {}

    def of(self, value: exp.Expr) -> str:
        """The kind of a value; equal kinds are one type."""
        found = self.known.get(id(value))
        if found is None:
            spend(_VALUE + size(value), "columns of set operations")
            name = type_of(value)
            # The value is kept along: another one must not come to have its id.
            found = (value, f":{name}" if name else shape_of(value))
            self.known[id(value)] = found
        return found[1]


def align_sides(
    sides: list[Side], node: exp.SetOperation, top: bool, names: Names, kinds: ValueTypes
) -> list[Side]:
    """The two sides of a set operation, columns of one type each.

    top
        The outermost UNION [ALL]: there the statement that is written is itself one over its arms,
        in their order, so that the engine finds a type that is not certain here.

    Raises Refusal where the common type is not certain.
    """
    left, right = (universe_of(side)[0].select for side in sides)
    types = []
    leaves = [_leaves(side) for side in sides]
    spend(len(left) * sum(map(len, leaves)) // _A_UNIT, "arms of UNIONs")
    for place, pair in enumerate(zip(left, right, strict=True)):
        name = _common(*pair, kinds)
        even = [_is_even(side, place, kinds) for side in leaves]
        if not even[1] and (name != "" or not even[0]):
            # Spark aligns the arms in parentheses first; the statement has all in one row.
            raise _refusal(node, place, *pair)
        if name is None and not top:
            raise _refusal(node, place, *pair)
        types.append(name if name and all(even) else "")
    if not any(types):
        return sides
    by_value = bool(node.args.get("distinct"))
    return [_cast(side, types, by_value, top, names) for side in sides]


def _common(one_value: exp.Expr, other_value: exp.Expr, kinds: ValueTypes) -> str | None:
    """The type to cast both to; "" where they have one type already, None where nobody knows."""
    if kinds.of(one_value) == kinds.of(other_value):
        return ""
    here, there = type_of(one_value), type_of(other_value)
    return (common_type(here, there) or None) if here and there else None


def _is_even(leaves: list[Arm], place: int, kinds: ValueTypes) -> bool:
    """Have all arms of a side one type there? Else the outermost UNION was left to the engine."""
    return len({kinds.of(arm.select[place]) for arm in leaves}) == 1


def _leaves(side: Side) -> list[Arm]:
    """One arm of each SELECT that a side's values come from."""
    if isinstance(side, Bag):
        return [side.arms[0]]
    unites = isinstance(side, UnionAll) or side.operator == "union"
    return [arm for part in (side.inputs if unites else side.inputs[:1]) for arm in _leaves(part)]


def _cast(side: Side, types: list[str], by_value: bool, top: bool, names: Names) -> Side:
    if by_value:
        return Bag(tuple(_cast_arm(arm, types) for arm in arms_of(one(side), names)))
    if isinstance(side, UnionAll):
        return union_all([_cast(part, types, by_value, top, names) for part in side.inputs])
    if isinstance(side, Bag):
        return Bag(tuple(_cast_arm(arm, types) for arm in side.arms))
    if top or not _changes(side, types):
        return side  # an arm that counts by value before the statement's UNION ALL casts it
    return Bag((_cast_arm(counted(side, names), types),))


def _changes(side: SetQuery, types: list[str]) -> bool:
    values = universe_of(side)[0].select
    return any(as_type(value, name) is not value for value, name in zip(values, types, strict=True))


def _cast_arm(arm: Arm, types: list[str]) -> Arm:
    values = zip(arm.select, types, strict=True)
    return replace(arm, select=tuple(as_type(value, name) for value, name in values))


def _refusal(node: exp.Expr, place: int, one_value: exp.Expr, other_value: exp.Expr) -> Refusal:
    assert isinstance(node, exp.Query)
    name = node.named_selects[place]
    shown = [
        f"{value.sql('spark')} ({type_of(value) or 'a type that is not certain'})"
        for value in (one_value, other_value)
    ]
    return Refusal(
        f"the column {name} of a set operation has no type that is certain",
        " beside ".join(shown),
        f"cast both to one type: CAST(… AS STRING) AS {name}",
        code="untyped-column",
    )
