"""Steps in months over dates: monotone in the date, unlike those over timestamps.

``add_months(x, n)`` is the same day n months later, or that month's last one where it has none:

    Jan 29, 30, 31  + 1 month = Feb 28        Mar 31 09:00 - 1 month = Feb 28 09:00
    Feb 1           + 1 month = Mar 1         Mar 28 10:00 - 1 month = Feb 28 10:00

Over dates it never falls, so there is a least date at which it reaches e. Over timestamps it does:
Mar 31 08:00 less a month comes before Mar 28 10:00 less a month.
"""

from __future__ import annotations

from sqlglot import exp

from tapestry.sql import timing
from tapestry.sql.facts.expressions import (
    INTEGERS,
    day_after,
    negative,
    number,
    plus,
    typed,
    whole,
    within,
)
from tapestry.sql.facts.fixed_lengths import unit_name

_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
_MOST = 12 * 12_000
"""Months that lead from any date of the years 1 to 9999 beyond every other."""


def months_in(length: exp.Expr) -> exp.Expr | None:
    """Return the months of an interval of months and years; None for any other, or with the clock.

    >>> from sqlglot import parse_one
    >>> texts = ("25 months", "'-2' years", "'1-3' year to month", "'1 month 1 day'")
    >>> found = [months_in(parse_one(f"interval {text}", dialect="spark")) for text in texts]
    >>> [node and node.sql() for node in found]
    ['25', '-24', None, None]
    """
    if isinstance(length, exp.Paren):
        return months_in(length.this)
    if isinstance(length, exp.Neg):
        inner = months_in(length.this)
        return None if inner is None else negative(inner)
    if isinstance(length, exp.Add | exp.Sub):
        left, right = months_in(length.this), months_in(length.expression)
        if left is None or right is None:
            return None
        return plus(left, right if isinstance(length, exp.Add) else negative(right))
    if isinstance(length, exp.Mul):
        one, other = length.this, length.expression
        months, times = (one, other) if months_in(one) is not None else (other, one)
        count = months_in(months)
        if count is None or not _is_count(times):
            return None
        return _product(count, times)
    if not isinstance(length, exp.Interval):
        return None
    size = _MONTHS.get(unit_name(length.args.get("unit")))
    count = _count(length.this)
    if size is None or count is None or isinstance(length.args.get("unit"), exp.IntervalSpan):
        return None
    return _product(number(size), count)


def months_added(call: exp.TimestampAdd) -> exp.Expr | None:
    """Return ``timestampadd(month, n, x)`` of a date x as ``add_months(x, n)``; None for other
    units.
    """
    size = _MONTHS.get(unit_name(call.args.get("unit")))
    if size is None or not _is_count(call.expression):
        return None
    count = _product(number(size), call.expression)
    return exp.AddMonths(this=call.this.copy(), expression=count)


def _product(one: exp.Expr, other: exp.Expr) -> exp.Expr:
    """Return the product of two whole numbers, folded if both are literals.

    A count of years is clamped first, so that the product does not overflow.
    """
    left, right = whole(one), whole(other)
    if left is not None and right is not None:
        return number(left * right)
    if left == 1:
        return other
    if left is not None:
        one, other = other, one
    clamped = within(one, _MOST)
    product = exp.Mul(this=timing.wrapped(clamped), expression=timing.wrapped(other))
    return typed(product, "bigint")


def _count(node: exp.Expr | None) -> exp.Expr | None:
    """The whole number of units that an interval is written with."""
    if node is None:
        return None
    if isinstance(node, exp.Literal) and node.is_string:
        text = node.name.strip()
        digits = text.removeprefix("-").removeprefix("+")
        return number(int(text)) if digits.isdecimal() and len(digits) < 10 else None
    return node if whole(node) is not None or _is_count(node) else None


def _is_count(node: exp.Expr) -> bool:
    """Return whether a node is a whole number; to the parser ``n * INTERVAL 1 DAY`` is one, too."""
    known = node.is_type(*INTEGERS) and node.find(exp.Interval) is None
    return bool(known and not timing.contains_now(node))


def add_months(day: exp.Expr, months: exp.Expr) -> exp.Expr:
    """Return the day ``months`` months later, or the last day of that month."""
    return typed(exp.AddMonths(this=day.copy(), expression=timing.wrapped(months)), "date")


def months_reach(day: exp.Expr, months: exp.Expr) -> exp.Expr:
    """Return the least date from which ``months`` months lead to ``day`` or beyond.

    It is c, that many months before the day, or the date after it: c has the day's number in its
    month, and then reaches the day and no date before c does, or c is the last one of a month that
    has no such number, and the first of the next month is the first to lead beyond the day. A NULL
    gives NULL.
    """
    before = add_months(day, negative(within(months, _MOST)))
    shorter = exp.LT(this=exp.Day(this=before.copy()), expression=exp.Day(this=day.copy()))
    case = exp.Case(ifs=[exp.If(this=shorter, true=day_after(before))], default=before)
    return typed(case, "date")


def first_of_month(day: exp.Expr) -> exp.Expr:
    """The first date of a day's month: the least one whose ``last_day`` is on or after the day."""
    trunc = exp.DateTrunc(unit=exp.Literal.string("MONTH"), this=day.copy())  # type: ignore[no-untyped-call]
    return typed(trunc, "date")
