"""Tells which expressions read the clock, and builds timestamp expressions."""

from __future__ import annotations

from datetime import datetime, timezone

from sqlglot import exp

NOW_NAMES = frozenset({"now", "curdate", "current_timestamp", "current_date", "localtimestamp"})
NOW_NODES = (exp.CurrentTimestamp, exp.CurrentDate, exp.Localtimestamp, exp.CurrentDatetime)


_MARKS = "\ufdd0", "\ufdd1"
"""Two of the code points that Unicode keeps for a program's own use: no query has them."""


def mark(name: str) -> str:
    """Return a mark for a rendered text that is filled in later and occurs nowhere else."""
    return name.join(_MARKS)


def has_mark(text: str) -> bool:
    """Return whether a text holds a piece of a mark."""
    return any(piece in text for piece in _MARKS)


def is_now(node: exp.Expr) -> bool:
    """Return whether this node itself reads the clock, as a timestamp or a date.

    ``shop.now()`` is somebody's own function, which the parser makes the end of a dotted name.
    """
    if isinstance(node, exp.Anonymous):
        return node.name.lower() in NOW_NAMES and not isinstance(node.parent, exp.Dot)
    return isinstance(node, NOW_NODES)


def contains_now(node: exp.Expr) -> bool:
    """Return whether this expression reads the clock anywhere."""
    return any(is_now(part) for part in node.walk())


def reads_now(node: exp.Expr) -> bool:
    """Return whether this expression reads the clock itself, not only in a subquery."""
    return any(is_now(part) for part in node.walk(prune=lambda one: isinstance(one, exp.Query)))


def clock_at(clock: exp.Expr, instant: exp.Expr) -> exp.Expr:
    """Return the value of a reading of the clock at an instant: the instant, or its day."""
    dates = isinstance(clock, exp.CurrentDate) or clock.name.lower() == "curdate"
    return exp.cast(instant.copy(), "date") if dates else instant.copy()


def as_of(node: exp.Expr, instant: exp.Expr) -> exp.Expr:
    """A copy of the expression in which each reading of the clock is the instant, as its type.

    >>> from sqlglot import parse_one
    >>> age = parse_one("year(current_date()) - n", dialect="spark")
    >>> as_of(age, exp.column("s")).sql("spark")
    'YEAR(CAST(s AS DATE)) - n'
    """

    def replace(part: exp.Expr) -> exp.Expr:
        if not is_now(part):
            return part
        if isinstance(part, exp.CurrentDate) or part.name.lower() == "curdate":
            return exp.cast(instant.copy(), "date")
        local = isinstance(part, exp.Localtimestamp) or part.name.lower() == "localtimestamp"
        return exp.cast(instant.copy(), "timestampntz") if local else wrapped(instant)

    return node.copy().transform(replace, copy=False)


def literal(instant: datetime | str) -> exp.Expr:
    """An instant as SQL, exact to the microsecond; timezone-aware instants are written in UTC.

    A text stands for an instant that is filled in later (a template's variable).

    >>> literal(datetime(2026, 1, 2, tzinfo=timezone.utc)).sql("spark")
    "CAST('2026-01-02 00:00:00+00:00' AS TIMESTAMP)"
    """
    return placeholder(text_of(instant))


def text_of(instant: datetime | str) -> str:
    """An instant in UTC as the text of a timestamp, with its offset; a text stays as it is."""
    if isinstance(instant, str):
        # sql: put into a literal, by sqlglot
        return instant
    aware = instant if instant.tzinfo else instant.replace(tzinfo=timezone.utc)
    return aware.astimezone(timezone.utc).isoformat(sep=" ")


def placeholder(text: str) -> exp.Expr:
    """``CAST('text' AS TIMESTAMP)``, typed."""
    return exp.cast(exp.Literal.string(text), "timestamptz")


def interval(amount: int, unit: str) -> exp.Interval:
    """``INTERVAL 'amount' unit``."""
    return exp.Interval(this=exp.Literal.string(str(amount)), unit=exp.var(unit))


def next_instant(node: exp.Expr) -> exp.Expr:
    """``node + 1 microsecond``: the first instant after it."""
    return exp.Add(this=wrapped(node), expression=interval(1, "MICROSECOND"))


def previous_instant(node: exp.Expr) -> exp.Expr:
    """``node - 1 microsecond``."""
    return exp.Sub(this=wrapped(node), expression=interval(1, "MICROSECOND"))


def wrapped(node: exp.Expr) -> exp.Expr:
    """A copy of the node, in parentheses where an operator around it could bind tighter."""
    copy = node.copy()
    loose = (exp.Binary, exp.Not, exp.Neg, exp.Between, exp.In)
    needs = isinstance(copy, loose) and not isinstance(copy, exp.Dot)
    return exp.Paren(this=copy) if needs else copy
