"""Ends of ranges as SQL, of the column's own type: no error, no rounding, no session setting."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from decimal import Context, Decimal

from sqlglot import exp

from tapestry.sql import timing
from tapestry.sql.infer.kinds import INT, Number, ValueKind

_TYPES = {8: "tinyint", 16: "smallint", 64: "bigint"}
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_CONTEXT = Context(prec=80)


def written(kind: ValueKind, value: Number) -> exp.Expr | None:
    """The value as SQL; None where not every engine has it.

    >>> from tapestry.sql.infer.kinds import value_kind
    >>> written(value_kind("decimal(15,2)"), 5).sql("spark")
    "CAST('5.00' AS DECIMAL(15, 2))"
    """
    if isinstance(value, float):
        return None
    if kind.family == "integer":
        return _integer(kind, int(value))
    if kind.family == "decimal":
        digits = f"{Decimal(int(value * 10**kind.scale)).scaleb(-kind.scale, _CONTEXT):f}"
        return exp.cast(exp.Literal.string(digits), f"decimal({kind.precision},{kind.scale})")
    if kind.family == "double":
        return exp.cast(exp.Literal.string(repr(float(value))), "double")
    try:
        if kind.family == "date":
            day = date(1970, 1, 1) + timedelta(days=int(value))
            return exp.cast(exp.Literal.string(day.isoformat()), "date")
        return timing.literal(_EPOCH + timedelta(microseconds=int(value)))
    except OverflowError:
        return None


def _integer(kind: ValueKind, value: int) -> exp.Expr:
    literal: exp.Expr = exp.Literal.number(abs(value))
    literal = exp.Neg(this=literal) if value < 0 else literal
    return literal if kind == INT else exp.cast(literal, _TYPES[kind.bits])
