"""Builders of the expressions that a solved time atom is made of; each keeps the type it builds."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from tapestry.sql import timing

TRUNCATIONS = {
    "MICROSECOND": 1,
    "MILLISECOND": 1,
    "SECOND": 1,
    "MINUTE": 1,
    "HOUR": 1,
    "DAY": 1,
    "WEEK": 1,
    "MONTH": 1,
    "QUARTER": 3,
    "YEAR": 1,
}
INTEGERS = (exp.DType.TINYINT, exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT)
NUMBERS = (*INTEGERS, exp.DType.DECIMAL, exp.DType.DOUBLE, exp.DType.FLOAT)


def typed(node: exp.Expr, kind: str) -> exp.Expr:
    """Return a copy of the node with this type: timestamp, date or one of Spark's."""
    copy = node.copy()
    copy.type = exp.DataType.build("timestamptz" if kind == "timestamp" else kind)
    return copy


def typed_like(node: exp.Expr, other: exp.Expr) -> exp.Expr:
    """Return a copy of the node with the type of another one."""
    copy = node.copy()
    copy.type = other.type
    return copy


def is_timestamp(node: exp.Expr) -> bool:
    """Return whether the node is known to be a timestamp, with or without zone."""
    return bool(node.is_type("timestamp", "timestamptz", "timestampntz", "timestampltz"))


def is_exact(node: exp.Expr) -> bool:
    """Return whether the node is known to be a whole number."""
    return bool(node.is_type(*INTEGERS))


def timestamp(node: exp.Expr) -> exp.Expr:
    """Return the node as TIMESTAMP, cast if it is not one."""
    if is_timestamp(node) and not node.is_type("timestampntz"):
        return node.copy()
    return typed(exp.cast(node.copy(), "timestamptz"), "timestamp")


def to_date(node: exp.Expr) -> exp.Expr:
    """Return the node as DATE, cast if it is not one."""
    if node.is_type("date"):
        return node.copy()
    return typed(exp.cast(node.copy(), "date"), "date")


def whole(node: exp.Expr) -> int | None:
    """Return the value of a literal whole number, possibly negative; None for anything else."""
    if isinstance(node, exp.Paren):
        return whole(node.this)
    if isinstance(node, exp.Neg):
        value = whole(node.this)
        return None if value is None else -value
    return int(node.name) if isinstance(node, exp.Literal) and node.is_int else None


def number(value: int) -> exp.Expr:
    """Return a whole number as a typed SQL literal."""
    literal = exp.Literal.number(value)
    literal.type = exp.DataType.build("int")
    return literal


def plus(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """``left + right``, folded where both are literal whole numbers."""
    one, two = whole(left), whole(right)
    if one is not None and two is not None:
        return number(one + two)
    total = exp.Add(this=timing.wrapped(left), expression=timing.wrapped(right))
    total.type = left.type
    return total


def minus(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """``left - right``, folded where both are literal whole numbers."""
    one, two = whole(left), whole(right)
    if one is not None and two is not None:
        return number(one - two)
    total = exp.Sub(this=timing.wrapped(left), expression=timing.wrapped(right))
    total.type = left.type
    return total


def negative(node: exp.Expr) -> exp.Expr:
    """``-node``, folded where it is a literal whole number."""
    value = whole(node)
    if value is not None:
        return number(-value)
    copy = exp.Neg(this=timing.wrapped(node))
    copy.type = node.type
    return copy


def within(count: exp.Expr, most: int) -> exp.Expr:
    """Return the count, limited to the range from ``-most`` to ``most``.

    ``most`` units lead beyond every instant, so the same instants are before and behind; but no sum
    with the count overflows, and NaN is the greatest number, as it is to Spark. NULL stays.

    >>> within(exp.column("k"), 12).sql("spark")
    'CASE WHEN k > 12 THEN 12 WHEN k < -12 THEN -12 ELSE k END'
    """
    value = whole(count)
    if value is not None and abs(value) <= most:
        return count
    if count.is_type("tinyint", "smallint") or (count.is_type("int") and most >= 2**31):
        return count
    limit, least = exp.Literal.number(most), exp.Neg(this=exp.Literal.number(most))
    inside = exp.Case(
        ifs=[
            exp.If(this=exp.GT(this=timing.wrapped(count), expression=limit.copy()), true=limit),
            exp.If(this=exp.LT(this=timing.wrapped(count), expression=least.copy()), true=least),
        ],
        default=count.copy(),
    )
    inside.type = count.type
    return inside


def plus_days(day: exp.Expr, count: exp.Expr) -> exp.Expr:
    """The day ``count`` days later."""
    if not count.is_type("int", "smallint", "tinyint"):
        count = exp.cast(count.copy(), "int")
    plus = exp.TsOrDsAdd(this=day.copy(), expression=timing.wrapped(count), unit=exp.var("DAY"))
    return typed(plus, "date")


def day_after(day: exp.Expr) -> exp.Expr:
    """The next day."""
    return plus_days(day, exp.Literal.number(1))


def date_trunc(unit: str, node: exp.Expr) -> exp.Expr:
    """``date_trunc(unit, node)``."""
    return exp.TimestampTrunc(this=node.copy(), unit=exp.var(unit))


def next_step(node: exp.Expr, unit: str) -> exp.Expr:
    """Return the instant one unit of a truncation later."""
    name = "MONTH" if unit == "QUARTER" else unit
    return exp.Add(this=node.copy(), expression=timing.interval(TRUNCATIONS[unit], name))


def timestamp_add(node: exp.Expr, count: exp.Expr, unit: str) -> exp.Expr:
    """``count`` units of fixed length later."""
    moved = exp.TimestampAdd(this=node.copy(), expression=timing.wrapped(count), unit=exp.var(unit))
    return typed(moved, "timestamp")


def counted_from(origin: exp.Expr, unit: str) -> Callable[[exp.Expr], exp.Expr]:
    """Return a function from a whole count of units to the least instant that reaches it.

    The units are counted from ``origin``, towards zero.
    """

    def at(count: exp.Expr) -> exp.Expr:
        above = timestamp_add(origin, count, unit)
        below = timing.next_instant(
            timestamp_add(origin, plus(count, exp.Literal.number(-1)), unit)
        )
        known = whole(count)
        if known is not None:
            return above if known > 0 else typed(below, "timestamp")
        positive = exp.GT(this=timing.wrapped(count), expression=exp.Literal.number(0))
        case = exp.Case(ifs=[exp.If(this=positive, true=above)], default=below)
        return typed(case, "timestamp")

    return at


def from_epoch(micros: int) -> Callable[[exp.Expr], exp.Expr]:
    """Return a function from a count of periods since 1970, each of ``micros``, to a timestamp."""

    def at(count: exp.Expr) -> exp.Expr:
        value, total = whole(count), timing.wrapped(count)
        if value is not None:
            total = number(value * micros)  # Spark would multiply INTs
        elif micros > 1:
            total = exp.Mul(this=total, expression=exp.Literal.number(micros))
        return typed(exp.UnixToTime(this=total, scale=exp.UnixToTime.MICROS), "timestamp")

    return at


def new_year(year: exp.Expr) -> exp.Expr:
    """Return January 1st of a year, also of one outside of the calendar's usual range."""
    months = exp.Mul(
        this=exp.Paren(
            this=exp.Sub(this=timing.wrapped(year), expression=exp.Literal.number(2000))
        ),
        expression=exp.Literal.number(12),
    )
    origin = exp.cast(exp.Literal.string("2000-01-01"), "date")
    return typed(exp.AddMonths(this=origin, expression=months), "date")
