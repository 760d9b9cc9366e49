"""Solve a comparison with the clock for the instant s: semantics, section 2, "time atom".

A comparison of f(s) with e, f monotone in s, holds on one half-open interval of instants.  Peeling
f layer by layer moves each layer to the other side: ``g(h) >= e`` iff ``h >= ge(e)``, ``g(h) > e``
iff ``h >= gt(e)``, where ge(e) is the least argument at which g reaches e and gt(e) the least at
which it passes e.  A step function so is solved at its step, exactly.  Where f is not monotone no
such pair exists, and the comparison is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from tapestry.errors import Refusal
from tapestry.sql import timing
from tapestry.sql.facts.common_types import type_of
from tapestry.sql.facts.comparison import NOT_MONOTONE, TO_DATA, ClockComparison
from tapestry.sql.facts.expressions import (
    NUMBERS,
    TRUNCATIONS,
    counted_from,
    date_trunc,
    day_after,
    from_epoch,
    is_exact,
    is_timestamp,
    minus,
    negative,
    new_year,
    next_step,
    plus,
    plus_days,
    timestamp,
    timestamp_add,
    to_date,
    typed,
    typed_like,
    within,
)
from tapestry.sql.facts.fixed_lengths import DAY_UNITS, SHORT_UNITS, most_of, span_of, unit_name
from tapestry.sql.facts.month_steps import first_of_month, months_added, months_in, months_reach
from tapestry.sql.ir import Condition, Formula, Lower, Upper, all_of, any_of
from tapestry.sql.work import size, spend

_PEELED = 4
"""Units for a node of a comparison that is solved."""

OPERATORS: dict[type[exp.Expr], str] = {
    exp.GT: ">",
    exp.GTE: ">=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.NullSafeEQ: "<=>",
    exp.NullSafeNEQ: "<!>",
}
EPOCHS = (exp.StrToUnix, exp.UnixSeconds, exp.UnixMillis, exp.UnixMicros)
_FLIPPED = {">": "<", ">=": "<=", "<": ">", "<=": ">="}
_NEGATED = {">": "<=", ">=": "<", "<": ">=", "<=": ">", "=": "<>", "<>": "="}
_SYNONYMS = {"MM": "MONTH", "MON": "MONTH", "YYYY": "YEAR", "YY": "YEAR", "DD": "DAY"}


@dataclass(frozen=True)
class Solution:
    """A solved comparison: formulas for true, false and unknown."""

    true: Formula
    false: Formula
    unknown: Formula


def solve_comparison(comparison: exp.Expr, zone: str) -> Solution:
    """Solve one comparison that reads the clock on exactly one side.

    Raises Refusal, with the place, where the side is not monotone in now().
    """
    spend(size(comparison) * _PEELED, "comparisons with now()")
    operator = OPERATORS[type(comparison)]
    left, right = comparison.this, comparison.expression
    if timing.reads_now(left) and timing.reads_now(right):
        raise Refusal(
            "now() stands on both sides of a comparison",
            comparison.sql("spark"),
            "bring it to one side: now() >= m.ts + interval 1 day",
            code="clock-condition",
        )
    solver = _Solver(comparison, zone)
    if timing.reads_now(right):
        left, right = right, left
        operator = _FLIPPED.get(operator, operator)
    # Every step keeps NULLs: the atom is unknown iff its threshold is NULL.
    threshold = _bound_of(solver.solve(left, ">=", right))
    unknown = Condition(exp.Is(this=timing.wrapped(threshold), expression=exp.Null()))
    if operator in ("<=>", "<!>"):
        equal = solver.solve(left, "=", right)
        different = any_of(solver.solve(left, "<>", right), unknown)
        pair = (equal, different) if operator == "<=>" else (different, equal)
        return Solution(*pair, unknown=any_of())
    return Solution(
        solver.solve(left, operator, right), solver.solve(left, _NEGATED[operator], right), unknown
    )


class _Solver(ClockComparison):
    """One comparison in one session time zone; every method returns the formula for "true"."""

    def solve(self, side: exp.Expr, operator: str, other: exp.Expr) -> Formula:
        if operator == "=":
            return all_of(self.solve(side, ">=", other), self.solve(side, "<=", other))
        if operator == "<>":
            return any_of(self.solve(side, "<", other), self.solve(side, ">", other))
        return self.compare(side, operator, other)

    def compare(self, side: exp.Expr, operator: str, other: exp.Expr) -> Formula:
        """``side operator other`` for a side that reads the clock and an other that does not."""
        while isinstance(side, exp.Paren):
            side = side.this
        kind = self.kind(side)
        known = type_of(other)
        if (other.type is None or other.is_type("unknown")) and known not in ("", "void"):
            other = typed(other, known)
        if kind == "date" and other.is_type("datetime"):
            # A date plus hours is a timestamp; where the parser says so of a date (trunc()), its
            # midnight compares with another one as the date does.
            other = timestamp(other)
        if kind == "date" and is_timestamp(other):
            # Spark widens the date to its midnight; the least date at or after e starts the day
            # after the microsecond before e.
            return self.step(
                side,
                operator,
                day_after(to_date(timing.previous_instant(timestamp(other)))),
                day_after(to_date(other)),
            )
        coerce = {"timestamp": self.as_timestamp, "date": self.as_date, "number": self.as_number}
        other = coerce[kind](other) if kind in coerce else other
        return self.peel(side, operator, other, kind)

    def step(self, inner: exp.Expr, operator: str, ge: exp.Expr, gt: exp.Expr) -> Formula:
        """``g(inner) operator e`` given the least arguments at which g reaches and passes e."""
        bound = ge if operator in (">=", "<") else gt
        return self.compare(inner, ">=" if operator in (">", ">=") else "<", bound)

    def peel(self, side: exp.Expr, operator: str, other: exp.Expr, kind: str) -> Formula:
        if timing.is_now(side) and kind == "timestamp":
            return _bound(operator, other)
        if isinstance(side, exp.Neg):
            return self.compare(side.this, _FLIPPED[operator], negative(other))
        if isinstance(side, exp.Add | exp.Sub):
            return self.peel_sum(side, operator, other, kind)
        if kind == "timestamp":
            return self.peel_timestamp(side, operator, other)
        if kind == "date":
            return self.peel_date(side, operator, other)
        return self.peel_number(side, operator, other)

    # -- sums ---------------------------------------------------------------------------------
    def peel_sum(self, side: exp.Expr, operator: str, other: exp.Expr, kind: str) -> Formula:
        left, right = side.this, side.expression
        adding = isinstance(side, exp.Add)
        if timing.reads_now(left) and timing.reads_now(right):
            raise self.refuse("now() stands twice in one sum", "subtract it away, or write it once")
        if timing.reads_now(right):
            if adding:
                return self.peel_sum(exp.Add(this=right, expression=left), operator, other, kind)
            # X - h op e  iff  h flipped(op) X - e
            if span_of(left) and kind == "interval":
                return self.compare(right, _FLIPPED[operator], minus(left, other))
            if kind == "interval":
                return self.compare_length(right, _FLIPPED[operator], left, negative(other))
            self.need_exact(left)
            moved = minus(left, other)
            return self.compare(right, _FLIPPED[operator], typed_like(moved, other))
        if span_of(right) and self.kind(left) == "interval":
            moved = minus(other, right) if adding else plus(other, right)
            return self.compare(left, operator, moved)
        if kind == "interval":
            return self.compare_length(left, operator, right, other)
        months = months_in(right) if kind == "date" else None
        if months is not None:
            return self.months(left, operator, other, months if adding else negative(months))
        if kind == "date" and not span_of(right):
            days = self.as_integer(right)
            moved = plus_days(other, negative(days) if adding else days)
            return self.compare(left, operator, moved)
        if kind in ("timestamp", "date"):
            return self.move_interval(left, operator, other, right, adding)
        self.need_exact(right)
        moved = minus(other, right) if adding else plus(other, right)
        return self.compare(left, operator, typed_like(moved, other))

    def move_interval(
        self,
        inner: exp.Expr,
        operator: str,
        other: exp.Expr,
        length: exp.Expr,
        adding: bool,
    ) -> Formula:
        """``h ± i op e`` iff ``h op e ∓ i``, for an interval of fixed length.

        Of a date h it is its midnight that the interval is added to, if it is not one of days.
        """
        self.need_fixed(length)
        if self.kind(inner) == "date":
            other = timestamp(other)
        moved = (minus if adding else plus)(other, length)
        return self.compare(inner, operator, typed(moved, "timestamp"))

    def compare_length(
        self,
        inner: exp.Expr,
        operator: str,
        origin: exp.Expr,
        length: exp.Expr,
    ) -> Formula:
        """``h - origin op length`` iff ``h op origin + length``."""
        self.need_fixed(length)
        self.need_one_clock()
        if origin.is_type(*NUMBERS):
            raise self.refuse(
                f"{origin.sql('spark')}, which is subtracted from now(), is a number",
                "write now() - interval 1 day, or current_date() - 1 for days",
            )
        start = origin if is_timestamp(origin) else timestamp(origin)
        return self.compare(inner, operator, typed(plus(start, length), "timestamp"))

    # -- timestamps ---------------------------------------------------------------------------
    def peel_timestamp(self, side: exp.Expr, operator: str, other: exp.Expr) -> Formula:
        if isinstance(side, exp.Cast):
            return self.compare(side.this, operator, typed(other, "timestamp"))
        if isinstance(side, exp.TimestampTrunc):
            unit = self.truncation(side.args["unit"])
            before = timing.previous_instant(other)
            return self.step(
                side.this,
                operator,
                typed(next_step(date_trunc(unit, before), unit), "timestamp"),
                typed(next_step(date_trunc(unit, other), unit), "timestamp"),
            )
        if isinstance(side, exp.TimestampAdd):
            months = months_added(side) if self.kind(side.this) == "date" else None
            if months is not None:  # the midnight of a date
                return self.compare(months, operator, other)
            unit = self.fixed_unit(side.args.get("unit"))
            if span_of(exp.Interval(this=side.expression, unit=exp.var(unit))) != "short":
                self.need_fixed_zone()
            moved = timestamp_add(other, negative(self.as_integer(side.expression)), unit)
            return self.compare(side.this, operator, moved)
        raise self.refuse()

    def truncation(self, node: exp.Expr) -> str:
        unit = node.name.upper()
        unit = _SYNONYMS.get(unit, unit)
        if unit not in TRUNCATIONS:
            raise self.refuse(f"the unit {unit} of date_trunc is not understood")
        if unit not in SHORT_UNITS or unit == "HOUR":
            self.need_fixed_zone()
        return unit

    def fixed_unit(self, node: exp.Expr | None) -> str:
        unit = unit_name(node)
        if unit not in SHORT_UNITS | DAY_UNITS:
            raise self.refuse(
                f"a difference in {unit or 'an unknown unit'} {NOT_MONOTONE}",
                TO_DATA,
            )
        if unit in DAY_UNITS:
            self.need_fixed_zone()
        return unit

    # -- dates --------------------------------------------------------------------------------
    def peel_date(self, side: exp.Expr, operator: str, other: exp.Expr) -> Formula:
        self.need_fixed_zone()
        if timing.is_now(side):  # current_date() is date(now())
            return self.of_timestamp(exp.CurrentTimestamp(), operator, other)
        if isinstance(side, exp.TsOrDsAdd | exp.DateAdd):
            days = self.as_integer(side.expression)
            inner = exp.TsOrDsToDate(this=side.this)
            return self.compare(inner, operator, plus_days(other, negative(days)))
        if isinstance(side, exp.AddMonths):
            months = self.as_integer(side.expression)
            return self.months(exp.TsOrDsToDate(this=side.this), operator, other, months)
        if isinstance(side, exp.LastDay):
            ends = (first_of_month(day) for day in (other, day_after(other)))
            return self.step(exp.TsOrDsToDate(this=side.this), operator, *ends)
        if isinstance(side, exp.DateTrunc):
            unit = self.truncation(side.args["unit"])
            steps = [
                to_date(
                    next_step(
                        exp.DateTrunc(unit=exp.Literal.string(unit), this=day),  # type: ignore[no-untyped-call]
                        unit,
                    )
                )
                for day in (plus_days(other, exp.Literal.number(-1)), other)
            ]
            return self.step(exp.TsOrDsToDate(this=side.this), operator, steps[0], steps[1])
        inner = side.this
        if self.kind(inner) == "date":
            return self.compare(inner, operator, other)
        return self.of_timestamp(inner, operator, other)

    def months(self, inner: exp.Expr, operator: str, other: exp.Expr, months: exp.Expr) -> Formula:
        """``add_months(h, n) op d`` for a date h, which is passed where the next day is reached."""
        spend(8 * size(other), "comparisons with now()")
        reached, passed = (months_reach(day, months) for day in (other, day_after(other)))
        return self.step(inner, operator, reached, passed)

    def of_timestamp(self, inner: exp.Expr, operator: str, other: exp.Expr) -> Formula:
        """``date(h) op d``: a day starts at its midnight and is passed at the next one."""
        return self.step(inner, operator, timestamp(other), timestamp(day_after(other)))

    # -- numbers ------------------------------------------------------------------------------
    def peel_number(self, side: exp.Expr, operator: str, other: exp.Expr) -> Formula:
        other = within(other, most_of(side))
        if isinstance(side, EPOCHS) and other.is_type("tinyint", "smallint", "int"):
            other = typed(exp.cast(other, "bigint"), "bigint")  # microseconds are no INT
        ge, gt = (other, plus(other, exp.Literal.number(1)))
        if not is_exact(other):
            ge = typed(exp.cast(exp.Ceil(this=other.copy()), "bigint"), "bigint")
            floor = typed(exp.cast(exp.Floor(this=other.copy()), "bigint"), "bigint")
            gt = plus(floor, exp.Literal.number(1))
        at: Callable[[exp.Expr], exp.Expr]
        if isinstance(side, exp.DateDiff):
            return self.peel_datediff(side, operator, ge, gt)
        if isinstance(side, exp.TimestampDiff):
            return self.peel_timestampdiff(side, operator, ge, gt)
        if isinstance(side, exp.Year | exp.Extract):
            self.need_fixed_zone()
            inner = side.expression if isinstance(side, exp.Extract) else side.this
            inner = inner.this if isinstance(inner, exp.TsOrDsToDate) else inner
            return self.step(exp.TsOrDsToDate(this=inner), operator, new_year(ge), new_year(gt))
        if isinstance(side, exp.StrToUnix | exp.UnixSeconds):
            at = from_epoch(1_000_000)
        elif isinstance(side, exp.UnixMillis):
            at = from_epoch(1_000)
        elif isinstance(side, exp.UnixMicros):
            at = from_epoch(1)
        else:
            raise self.refuse()
        return self.step(side.this, operator, at(ge), at(gt))

    def peel_datediff(
        self, side: exp.DateDiff, operator: str, ge: exp.Expr, gt: exp.Expr
    ) -> Formula:
        """datediff counts the midnights between: ``>= n`` from the midnight n days after."""
        self.need_fixed_zone()
        end, start = side.this, side.expression
        if timing.reads_now(start):
            if timing.reads_now(end):
                raise self.refuse("now() stands twice in one difference")
            mirrored = exp.DateDiff(this=start, expression=end)
            low, high = negative(gt), negative(ge)
            # -g >= n iff g <= -n; for whole numbers g <= -n iff g < -n + 1
            return self._mirrored(mirrored, operator, low, high)
        origin = start.this if isinstance(start, exp.TsOrDsToDate) else start
        day = to_date(origin)
        inner = end if isinstance(end, exp.TsOrDsToDate) else exp.TsOrDsToDate(this=end)
        return self.step(inner, operator, plus_days(day, ge), plus_days(day, gt))

    def _mirrored(
        self, mirrored: exp.Expr, operator: str, low: exp.Expr, high: exp.Expr
    ) -> Formula:
        """``-g op n`` for a whole-numbered g, with low = -gt(n) and high = -ge(n)."""
        table = {">=": ("<=", high), ">": ("<=", low), "<": (">", high), "<=": (">", low)}
        flipped, bound = table[operator]
        return self.compare(mirrored, flipped, typed(bound, "bigint"))

    def peel_timestampdiff(
        self, side: exp.TimestampDiff, operator: str, ge: exp.Expr, gt: exp.Expr
    ) -> Formula:
        """Counted towards zero: n > 0 from e + n units, else from e + (n-1) units + 1µs."""
        unit = self.fixed_unit(side.args.get("unit"))
        self.need_one_clock()
        end, start = side.this, side.expression
        if timing.reads_now(start):
            if timing.reads_now(end):
                raise self.refuse("now() stands twice in one difference")
            mirrored = exp.TimestampDiff(this=start, expression=end, unit=exp.var(unit))
            return self._mirrored(mirrored, operator, negative(gt), negative(ge))
        origin = self.as_timestamp(start)
        at = counted_from(origin, unit)
        return self.step(end, operator, at(ge), at(gt))


def _bound_of(formula: Formula) -> exp.Expr:
    assert isinstance(formula, Lower | Upper)
    return formula.bound


def _bound(operator: str, other: exp.Expr) -> Formula:
    """``s op e`` as a half-open bound: semantics, section 1."""
    passed = operator in (">", "<=")
    edge = timing.next_instant(other) if passed else other.copy()
    return Lower(edge) if operator in (">", ">=") else Upper(edge)
