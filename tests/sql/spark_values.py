"""What Spark computes (ANSI off): an evaluator of conditions over one row, by Spark's own rules.

It shares nothing with ``tapestry.sql.infer``, which it judges; ``tests/spark`` compares it with
Spark. A value is a Python one beside the name of its type: days of a DATE, microseconds of a
TIMESTAMP; None is NULL.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta, timezone
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any
from zoneinfo import ZoneInfo

from sqlglot import exp

Value = tuple[str, Any]
Row = Mapping[tuple[str, str], Value]
EXACT = Context(prec=200, rounding=ROUND_HALF_UP, Emax=10_000, Emin=-10_000)
BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 20}
DAY = 86_400_000_000
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


class Overflowed(Exception):
    """Spark stops with an error."""


def holds(condition: exp.Expr, row: Row, zone: str = "UTC") -> bool | None:
    """Is the condition TRUE of the row, FALSE, or NULL?"""
    return Evaluation(row, zone).of(condition)[1]  # type: ignore[no-any-return]


class Evaluation:
    """Values of expressions over one row."""

    def __init__(self, row: Row, zone: str) -> None:
        self.row, self.zone = row, ZoneInfo(zone)

    def of(self, node: exp.Expr) -> Value:
        if isinstance(node, exp.Paren):
            return self.of(node.this)
        if isinstance(node, exp.Column):
            return self.row[node.table, node.name]
        if isinstance(node, exp.Literal):
            return ("string", node.this) if node.is_string else number(node.this)
        if isinstance(node, exp.Neg):
            return self.negative(node)
        if isinstance(node, exp.Null):
            return "void", None
        if isinstance(node, exp.Boolean):
            return "boolean", bool(node.this)
        if isinstance(node, exp.Cast):
            return self.cast(self.of(node.this), node.to.sql("spark").lower().replace(" ", ""))
        if isinstance(node, exp.Add | exp.Sub | exp.Mul | exp.Div):
            return self.arithmetic(node)
        return "boolean", self.truth(node)

    # -- truth ------------------------------------------------------------------------------------
    def truth(self, node: exp.Expr) -> bool | None:
        if isinstance(node, exp.And | exp.Or):
            parts = [self.of(one)[1] for one in node.flatten()]
            least = isinstance(node, exp.And)
            if (not least) in parts:
                return not least
            return None if None in parts else least
        if isinstance(node, exp.Not):
            inner = self.of(node.this)[1]
            return None if inner is None else not inner
        if isinstance(node, exp.Between):
            low = exp.GTE(this=node.this, expression=node.args["low"])
            high = exp.LTE(this=node.this, expression=node.args["high"])
            return self.truth(exp.And(this=low, expression=high))
        if isinstance(node, exp.In):
            return self.one_of(node)
        return self.compared(type(node), node, self.of(node.this), self.of(node.expression))

    def one_of(self, node: exp.In) -> bool | None:
        values = [self.of(node.this), *map(self.of, node.expressions)]
        kind = values[0][0]
        for name, _ in values[1:]:
            kind = wider(kind, name)
        first, *others = [self.cast(value, kind)[1] for value in values]
        found = [None if None in (first, one) else order(first) == order(one) for one in others]
        return True if True in found else None if None in found else False

    def compared(
        self, operator: type[exp.Expr], node: exp.Expr, one: Value, other: Value
    ) -> bool | None:
        kind = wider(beside(node.this, one[0], other[0]), beside(node.expression, other[0], one[0]))
        left, right = self.cast(one, kind)[1], self.cast(other, kind)[1]
        if operator is exp.NullSafeEQ:
            return left is right if None in (left, right) else order(left) == order(right)
        if None in (left, right):
            return None
        x, y = order(left), order(right)
        return {
            exp.EQ: x == y,
            exp.NEQ: x != y,
            exp.LT: x < y,
            exp.LTE: x <= y,
            exp.GT: x > y,
            exp.GTE: x >= y,
        }[operator]

    # -- casts ------------------------------------------------------------------------------------
    def cast(self, value: Value, kind: str) -> Value:
        name, known = value
        if known is None or name == kind:
            return kind, known
        if kind.startswith("decimal"):
            return kind, fitted(Decimal(known), kind)
        if kind == "double":
            return kind, float(known)
        if kind in BITS:
            return kind, wrapped(int(known), BITS[kind])
        if kind == "date":
            return kind, (date.fromisoformat(known) - EPOCH.date()).days
        assert kind in ("timestamp", "timestamptz"), (value, kind)
        if name == "date":
            known = (EPOCH.date() + timedelta(days=known)).isoformat()
        written = datetime.fromisoformat(known)
        return "timestamp", micros(written if written.tzinfo else self.local(written))

    def local(self, written: datetime) -> datetime:
        return written.replace(tzinfo=self.zone)

    # -- arithmetic -------------------------------------------------------------------------------
    def negative(self, node: exp.Neg) -> Value:
        if isinstance(node.this, exp.Literal) and not node.this.is_string:
            return number(f"-{node.this.this}")
        name, value = self.of(node.this)
        if value is None:
            return name, None
        if isinstance(value, Decimal):
            return name, value.copy_negate()
        return name, wrapped(-value, BITS[name]) if name in BITS else -value

    def arithmetic(self, node: exp.Binary) -> Value:
        sign = -1 if isinstance(node, exp.Sub) else 1
        if isinstance(node.expression, exp.Interval):
            return self.moved(self.of(node.this), node.expression, sign)
        one, other = self.of(node.this), self.of(node.expression)
        if one[0] == "date":
            if None in (one[1], other[1]):
                return "date", None
            return "date", wrapped(one[1] + sign * other[1], 32)
        left = beside(node.this, one[0], other[0])
        right = beside(node.expression, other[0], one[0])
        if "double" in (left, right) or (isinstance(node, exp.Div) and {left, right} <= set(BITS)):
            return "double", in_doubles(node, self.cast(one, "double"), self.cast(other, "double"))
        if {left, right} <= set(BITS):
            kind = max(left, right, key=lambda name: BITS[name])
            if None in (one[1], other[1]):
                return kind, None
            return kind, wrapped(OPERATORS[type(node)](one[1], other[1]), BITS[kind])
        return in_decimals(node, (left, one[1]), (right, other[1]))

    def moved(self, value: Value, interval: exp.Interval, sign: int) -> Value:
        name, known = value
        count = sign * int(interval.this.this)
        unit = interval.text("unit").upper().rstrip("S")
        if known is None:
            return name, None
        if unit == "MONTH":
            return name, self.months(name, known, count)
        if name == "date":
            return name, wrapped(known + count, 32)
        length = {"DAY": DAY, "HOUR": DAY // 24, "MINUTE": DAY // 1440, "SECOND": 1_000_000}
        days, rest = divmod(abs(count) * length[unit], DAY)
        start = self.at(known)
        there = self.local(start.replace(tzinfo=None) + (1 if count > 0 else -1) * days * ONE_DAY)
        there = there.replace(fold=start.fold) if days else start
        total = micros(there) + (1 if count > 0 else -1) * rest
        return name, total

    def at(self, known: int) -> datetime:
        return (EPOCH + timedelta(microseconds=known)).astimezone(self.zone)

    def months(self, name: str, known: int, count: int) -> int:
        if name == "date":
            day = EPOCH.date() + timedelta(days=known)
            return (later(day, count) - EPOCH.date()).days
        start = self.at(known)
        day = later(start.date(), count)
        return micros(self.local(datetime.combine(day, start.time().replace(tzinfo=None))))


ONE_DAY = timedelta(days=1)
OPERATORS: dict[type[exp.Expr], Callable[[Any, Any], Any]] = {
    exp.Add: lambda x, y: x + y,
    exp.Sub: lambda x, y: x - y,
    exp.Mul: lambda x, y: x * y,
    exp.Div: lambda x, y: x / y,
}


def micros(instant: datetime) -> int:
    apart = instant - EPOCH
    return (apart.days * 86_400 + apart.seconds) * 1_000_000 + apart.microseconds


def later(day: date, count: int) -> date:
    year, month = divmod(day.year * 12 + day.month - 1 + count, 12)
    return date(year, month + 1, min(day.day, calendar.monthrange(year, month + 1)[1]))


def number(text: str) -> Value:
    if "e" in text.lower():
        return "double", float(text)
    value = Decimal(text)
    digits, scale = len(value.as_tuple().digits), -int(value.as_tuple().exponent)
    if "." in text:
        return f"decimal({max(digits, scale)},{scale})", value
    for name in ("int", "bigint"):
        if wrapped(int(text), BITS[name]) == int(text):
            return name, int(text)
    return f"decimal({digits},0)", value


def wrapped(value: int, bits: int) -> int:
    half = 1 << (bits - 1)
    return (value + half) % (2 * half) - half


def order(value: Any) -> Any:
    """NaN is the greatest number, and equals itself."""
    if isinstance(value, float):
        return (1, 0.0) if value != value else (0, value)
    return value


def digits_of(kind: str) -> tuple[int, int]:
    if kind in DIGITS:
        return DIGITS[kind], 0
    precision, scale = re.findall(r"\d+", kind)
    return int(precision), int(scale)


def beside(node: exp.Expr, kind: str, other: str) -> str:
    """A bare whole number beside a DECIMAL has its own digits."""
    bare = node.unnest()
    literal = bare.this if isinstance(bare, exp.Neg) else bare
    if isinstance(literal, exp.Literal) and kind in BITS and other.startswith("decimal"):
        return f"decimal({len(str(int(literal.this)))},0)"
    return kind


def wider(one: str, other: str) -> str:
    if one == other or other == "void":
        return one
    pair = {one, other}
    if "string" in pair:
        (kind,) = pair - {"string"}
        return kind
    if "double" in pair:
        return "double"
    if pair <= set(BITS):
        return max(pair, key=lambda name: BITS[name])
    if pair == {"date", "timestamp"}:
        return "timestamp"
    (p1, s1), (p2, s2) = digits_of(one), digits_of(other)
    scale = max(s1, s2)
    whole = max(p1 - s1, p2 - s2)
    if whole + scale > 38:
        scale = max(0, scale - (whole + scale - 38))
        return f"decimal(38,{scale})"
    return f"decimal({whole + scale},{scale})"


def fitted(value: Decimal, kind: str) -> Decimal | None:
    precision, scale = digits_of(kind)
    if value.copy_abs() >= Decimal(10) ** 60:
        return None
    rounded = value.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, EXACT)
    return None if rounded.copy_abs() >= Decimal(10) ** (precision - scale) else rounded


def in_doubles(node: exp.Binary, one: Value, other: Value) -> float | None:
    if None in (one[1], other[1]) or (isinstance(node, exp.Div) and other[1] == 0):
        return None
    return float(OPERATORS[type(node)](one[1], other[1]))


def in_decimals(node: exp.Binary, one: Value, other: Value) -> Value:
    (p1, s1), (p2, s2) = digits_of(one[0]), digits_of(other[0])
    if isinstance(node, exp.Mul):
        precision, scale = p1 + p2 + 1, s1 + s2
    elif isinstance(node, exp.Div):
        scale = max(6, s1 + p2 + 1)
        precision = p1 - s1 + s2 + scale
    else:
        scale = max(s1, s2)
        precision = max(p1 - s1, p2 - s2) + scale + 1
    if precision > 38:
        scale = max(38 - (precision - scale), min(scale, 6))
        precision = 38
    kind = f"decimal({precision},{scale})"
    x, y = one[1], other[1]
    if x is None or y is None or (isinstance(node, exp.Div) and y == 0):
        return kind, None
    x, y = Decimal(x), Decimal(y)
    if isinstance(node, exp.Mul):
        exact = Context(prec=39, rounding=ROUND_HALF_UP).multiply(x, y)
    elif isinstance(node, exp.Div):
        exact = EXACT.divide(x, y).quantize(Decimal(1).scaleb(-38), ROUND_HALF_UP, EXACT)
    else:
        exact = EXACT.add(x, y) if isinstance(node, exp.Add) else EXACT.subtract(x, y)
    return kind, fitted(exact, kind)
