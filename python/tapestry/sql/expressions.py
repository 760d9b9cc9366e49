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


def typed(node: exp.Expression, kind: str) -> exp.Expression:
    copy = node.copy()
    copy.type = exp.DataType.build("timestamptz" if kind == "timestamp" else kind)
    return copy


def typed_like(node: exp.Expression, other: exp.Expression) -> exp.Expression:
    copy = node.copy()
    copy.type = other.type
    return copy


def is_timestamp(node: exp.Expression) -> bool:
    return bool(node.is_type("timestamp", "timestamptz", "timestampntz", "timestampltz"))


def is_exact(node: exp.Expression) -> bool:
    return bool(node.is_type(*INTEGERS))


def timestamp(node: exp.Expression) -> exp.Expression:
    if is_timestamp(node) and not node.is_type("timestampntz"):
        return node.copy()
    return typed(exp.cast(node.copy(), "timestamptz"), "timestamp")


def to_date(node: exp.Expression) -> exp.Expression:
    if node.is_type("date"):
        return node.copy()
    return typed(exp.cast(node.copy(), "date"), "date")


def plus(left: exp.Expression, right: exp.Expression) -> exp.Expression:
    total = exp.Add(this=timing.wrapped(left), expression=timing.wrapped(right))
    total.type = left.type
    return total


def minus(left: exp.Expression, right: exp.Expression) -> exp.Expression:
    total = exp.Sub(this=timing.wrapped(left), expression=timing.wrapped(right))
    total.type = left.type
    return total


def negative(node: exp.Expression) -> exp.Expression:
    copy = exp.Neg(this=timing.wrapped(node))
    copy.type = node.type
    return copy


def plus_days(day: exp.Expression, count: exp.Expression) -> exp.Expression:
    plus = exp.TsOrDsAdd(this=day.copy(), expression=timing.wrapped(count), unit=exp.var("DAY"))
    return typed(plus, "date")


def day_after(day: exp.Expression) -> exp.Expression:
    return plus_days(day, exp.Literal.number(1))


def date_trunc(unit: str, node: exp.Expression) -> exp.Expression:
    return exp.TimestampTrunc(this=node.copy(), unit=exp.var(unit))


def next_step(node: exp.Expression, unit: str) -> exp.Expression:
    name = "MONTH" if unit == "QUARTER" else unit
    return exp.Add(this=node.copy(), expression=timing.interval(TRUNCATIONS[unit], name))


def timestamp_add(node: exp.Expression, count: exp.Expression, unit: str) -> exp.Expression:
    moved = exp.TimestampAdd(this=node.copy(), expression=timing.wrapped(count), unit=exp.var(unit))
    return typed(moved, "timestamp")


def from_epoch(micros: int) -> Callable[[exp.Expression], exp.Expression]:
    def at(count: exp.Expression) -> exp.Expression:
        total = timing.wrapped(count)
        if micros > 1:
            total = exp.Mul(this=total, expression=exp.Literal.number(micros))
        return typed(exp.UnixToTime(this=total, scale=exp.UnixToTime.MICROS), "timestamp")

    return at


def new_year(year: exp.Expression) -> exp.Expression:
    """January 1st of a year, also of one outside of the calendar's usual range."""
    months = exp.Mul(
        this=exp.Paren(
            this=exp.Sub(this=timing.wrapped(year), expression=exp.Literal.number(2000))
        ),
        expression=exp.Literal.number(12),
    )
    origin = exp.cast(exp.Literal.string("2000-01-01"), "date")
    return typed(exp.AddMonths(this=origin, expression=months), "date")
