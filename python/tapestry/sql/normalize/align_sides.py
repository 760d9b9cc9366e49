"""Give all sides of a set operation the types that Spark widens them to.

Spark casts the rows of all sides, as they come out, to a common type. A derived table is merged
into the block that uses it, arm by arm, so that each arm must bring the cast along: a date beside
a timestamp is compared, printed and hashed as a timestamp. Sound because it is the same cast at the
same place: behind what a side counts by value, and for EXCEPT, INTERSECT and UNION, which ask for
values only, in each row of a side that has it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

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
"""The number of values of known types that are compared for one unit of work."""


class ValueTypes:
    """The types of values, cached, as a UNION of many arms asks for each of them often.

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


def sides_of(node: exp.SetOperation) -> list[exp.Query]:
    """The sides of a set operation: all of a row of UNIONs, which are one of many sides.

    >>> from sqlglot import parse_one
    >>> [side.sql() for side in sides_of(parse_one("(SELECT 1) UNION SELECT 2 UNION SELECT 3"))]
    ['(SELECT 1)', 'SELECT 2', 'SELECT 3']
    """
    sides = [node.expression]
    kept = {"this", "expression", "distinct"}
    left = node.this
    while (
        isinstance(node, exp.Union)
        and isinstance(left, exp.Union)
        and bool(left.args.get("distinct")) == bool(node.args.get("distinct"))
        and not any(value for key, value in left.args.items() if key not in kept)
        and not node.args.get("by_name")
    ):
        sides.append(left.expression)
        left = left.this
    return [left, *reversed(sides)]


@dataclass
class _Column:
    """One column of the sides visited so far: their type, and the sides that are cast to it."""

    first: exp.Expr
    kind: str
    name: str
    even: bool
    """Have all arms so far one type there? Else the outermost UNION was left to the engine."""
    cast: int = 0
    """So many sides, from the first on, are cast to ``name``."""

    @classmethod
    def of(cls, leaves: list[Arm], place: int, kinds: ValueTypes) -> _Column:
        """The column of one side."""
        first = leaves[0].select[place]
        even = len({kinds.of(arm.select[place]) for arm in leaves}) == 1
        return cls(first, kinds.of(first), type_of(first), even)

    def common(self, other: _Column) -> str | None:
        """Return the type to cast both to; "" if they have one already, None if it is unknown."""
        if self.kind == other.kind:
            return ""
        return (common_type(self.name, other.name) or None) if self.name and other.name else None

    def add(self, other: _Column, number: int, name: str | None) -> None:
        """Add the column of another side to those so far; ``number`` sides with it."""
        even = self.even and other.even
        if name and even:
            self.kind, self.name, self.cast = f":{name}", name, number
        self.even = even and bool(name or self.kind == other.kind)


def align_sides(
    sides: list[Side], node: exp.SetOperation, top: bool, names: Names, kinds: ValueTypes
) -> list[Side]:
    """The sides of a set operation, columns of one type each.

    The sides are gone over once, in their order, with the type so far: Spark widens ``(a UNION ALL
    b) UNION ALL c`` pair by pair. A value that it casts twice is cast once here, to the last type:
    each of these types has all values of the ones before it.

    top
        The outermost UNION [ALL]: there the statement that is written is itself one over its arms,
        in their order, so that the engine finds a type that is not certain here.

    Raises Refusal where the common type is not certain.
    """
    leaves = [_leaves(side) for side in sides]
    width = len(leaves[0][0].select)
    spend(width * sum(map(len, leaves)) // _A_UNIT, "arms of UNIONs")
    columns = []
    for place in range(width):
        column, *others = (_Column.of(side, place, kinds) for side in leaves)
        for number, other in enumerate(others, start=2):
            name = column.common(other)
            # Spark aligns the arms in parentheses first; the statement has all in one row.
            uneven = not other.even and (name != "" or not column.even)
            if uneven or (name is None and not top):
                raise _refusal(node, place, as_type(column.first, column.name), other.first)
            column.add(other, number, name)
        columns.append(column)
    by_value = bool(node.args.get("distinct"))
    return [
        _cast(side, types, by_value, top, names) if any(types) else side
        for number, side in enumerate(sides)
        for types in [[column.name if number < column.cast else "" for column in columns]]
    ]


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
