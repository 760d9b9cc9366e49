"""Facts about a side of a comparison that reads the clock: its kind of value, and coercions.

Spark widens the two sides of a comparison to one type; these are its rules for timestamps, dates
and whole numbers.  A side without a kind is not known to be monotone in now(), and is refused.
"""

from __future__ import annotations

import re

from sqlglot import exp

from tapestry.errors import Refusal
from tapestry.sql import timing
from tapestry.sql.facts.expressions import (
    INTEGERS,
    NUMBERS,
    is_exact,
    is_timestamp,
    timestamp,
    typed,
)
from tapestry.sql.facts.fixed_lengths import is_in_days, span_of, zone_is_fixed
from tapestry.sql.facts.month_steps import months_in

TO_DATA = (
    "add it to the data instead: now() >= m.ts + interval 1 month; or take it from the date, which"
    " is solved: current_date() - interval 1 month"
)
NOT_MONOTONE = "cannot be solved for the instant: it is not monotone in now()"

_DATES = (
    *(exp.TsOrDsToDate, exp.TsOrDsAdd, exp.DateAdd, exp.DateTrunc),
    *(exp.AddMonths, exp.LastDay),
)


class ClockComparison:
    """One comparison in one session time zone."""

    def __init__(self, comparison: exp.Expr, zone: str) -> None:
        self.comparison = comparison
        self.fixed_zone = zone_is_fixed(zone)
        self.zone = zone

    def refuse(self, reason: str = "", hint: str = "") -> Refusal:
        """Return the refusal of this comparison, to be raised; all have one error code."""
        text = self.comparison.sql("spark")
        return Refusal(
            reason or f"a condition on now() {NOT_MONOTONE}",
            text,
            hint or "compare now() itself with an expression: now() >= m.due + interval 1 month",
            code="clock-condition",
        )

    def need_fixed(self, length: exp.Expr) -> None:
        """Raise Refusal unless the interval has a fixed length in this zone."""
        span = span_of(length)
        if span == "day":
            self.need_fixed_zone()
        if span:
            return
        if length.is_type(*NUMBERS):
            raise self.refuse(
                "the difference of now() and a point in time is an interval, and no number",
                "write datediff(now(), m.d) > 1, or compare with an interval: > interval 1 day",
            )
        written = " ".join(part.sql("spark").upper() for part in length.find_all(exp.Interval))
        if re.search("MONTH|YEAR|QUARTER", written) or length.find(exp.MakeInterval):
            raise self.refuse(
                f"an interval without a fixed length {NOT_MONOTONE}",
                TO_DATA,
            )
        raise self.refuse(
            f"the length of {length.sql('spark')} is not known to be fixed: intervals of days and"
            " shorter units, and differences of two timestamps, are",
            "write it as one of those, or bring it to the other side: now() >= m.ts + ...",
        )

    def need_fixed_zone(self) -> None:
        """Raise Refusal where days of the session zone differ in length."""
        if not self.fixed_zone:
            raise self.refuse(
                f"days of now() are not of one length in the session time zone {self.zone}",
                "add days to the data (now() >= m.ts + interval 1 day), or set the zone to UTC",
            )

    def need_one_clock(self) -> None:
        """Raise Refusal if local times and instants differ in order or distances."""
        if not self.fixed_zone:
            raise self.refuse(
                f"Spark takes local times, which jump in the session time zone {self.zone}",
                "compare now() itself, add to the data (now() >= m.ts + interval 5 hours), or set"
                " the zone to UTC",
            )

    def kind(self, side: exp.Expr) -> str:
        """Return the kind of a side that reads the clock: timestamp, date, number or interval."""
        while isinstance(side, exp.Paren):
            side = side.this
        if isinstance(side, exp.Localtimestamp | exp.CurrentDatetime):
            self.need_one_clock()
        if timing.is_now(side):
            is_date = isinstance(side, exp.CurrentDate) or side.name.lower() == "curdate"
            return "date" if is_date else "timestamp"
        if isinstance(side, exp.Cast):
            return self.kind_of_cast(side)
        if isinstance(side, _DATES):
            return "date"
        if isinstance(side, exp.TimestampTrunc | exp.TimestampAdd):
            return "timestamp"
        if isinstance(side, exp.Neg):
            return self.kind(side.this)
        if isinstance(side, exp.Add | exp.Sub):
            return self.kind_of_sum(side)
        numbers = (exp.DateDiff, exp.TimestampDiff, exp.StrToUnix, exp.UnixSeconds)
        numbers += (exp.UnixMillis, exp.UnixMicros, exp.Year)  # type: ignore[assignment]
        if isinstance(side, numbers):
            return "number"
        if isinstance(side, exp.Extract) and side.name.upper() in ("YEAR", "Y", "YEARS"):
            return "number"
        raise self.refuse()

    def kind_of_cast(self, side: exp.Cast) -> str:
        """Return the kind of a cast of a reading of the clock."""
        target = side.args["to"]
        if target.is_type("date"):
            return "date"
        if target.is_type("timestampntz"):
            self.need_one_clock()
        if target.is_type("timestamp", "timestamptz", "timestampntz", "timestampltz"):
            return "timestamp"
        raise self.refuse()

    def kind_of_sum(self, side: exp.Expr) -> str:
        """Return the kind of a sum of a reading of the clock with something else."""
        left, right = side.this, side.expression
        on_left = timing.reads_now(left)
        kind = self.kind(left if on_left else right)
        rest = right if on_left else left
        if kind == "number":
            return kind
        if span_of(rest):
            return "timestamp" if kind == "date" and not is_in_days(rest) else kind
        if kind == "date" and months_in(rest) is not None:
            return kind  # of INTERVAL - date the parser says so too; no engine has that
        if isinstance(rest, exp.Interval | exp.MakeInterval):
            self.need_fixed(rest)
        if kind == "date" and on_left and rest.type is not None and rest.is_type(*INTEGERS):
            if rest.find(exp.Interval) is not None:  # to the parser n * INTERVAL is a number, as n
                self.need_fixed(rest)
            return kind
        return "interval"

    def as_timestamp(self, other: exp.Expr) -> exp.Expr:
        """Return the other side of a comparison with a timestamp, as TIMESTAMP."""
        if is_timestamp(other) and not other.is_type("timestampntz"):
            return other
        known = other.type is None or other.is_type("unknown", "null")
        castable = ("date", "datetime", "text", "varchar", "char", "timestampntz")
        if known or other.is_type(*castable):
            return timestamp(other)
        raise self.refuse(
            f"now() is compared with {other.type}, which is no point in time",
            "compare it with a TIMESTAMP or DATE",
        )

    def as_date(self, other: exp.Expr) -> exp.Expr:
        """Return the other side of a comparison with a date, as DATE."""
        if other.is_type("date"):
            return other
        if other.is_type("text", "varchar", "char", "null"):
            return typed(exp.cast(other.copy(), "date"), "date")
        raise self.refuse(
            "the type of what a date is compared with is not known",
            "cast it: cast(... as date) or cast(... as timestamp)",
        )

    def as_number(self, other: exp.Expr) -> exp.Expr:
        """Return the other side of a comparison with a number; Refusal if its type is unknown."""
        if other.is_type(*NUMBERS):
            return other
        raise self.refuse(
            "the type of what a number is compared with is not known", "cast(... as bigint)"
        )

    def as_integer(self, other: exp.Expr) -> exp.Expr:
        """Return a count of days or units.

        Raises Refusal if it is not a whole number, or reads the clock.
        """
        if timing.reads_now(other):
            raise self.refuse("now() stands twice in one sum", "subtract it away, or write it once")
        if other.is_type(*INTEGERS):
            return other
        raise self.refuse("a number of days or units is not a whole number", "cast(... as int)")

    def need_exact(self, term: exp.Expr) -> None:
        """Raise Refusal unless a term of a sum is a whole number."""
        if not is_exact(term):
            raise self.refuse(
                "a sum with now() is solved exactly for whole numbers only",
                "cast the other term to bigint",
            )
