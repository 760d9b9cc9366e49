"""Infers conditions on single tables that conditions together imply, and do not state."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, timezone
from decimal import Context, Decimal
from functools import cached_property

from sqlglot import exp

from tapestry.sql import timing
from tapestry.sql.infer.classes import Classes, key_of
from tapestry.sql.infer.kinds import INT, Number, ValueKind, whole
from tapestry.sql.infer.propagate import Constraint, Facts, KnownRange, RangeState, Why, fixpoint
from tapestry.sql.infer.read import Compared, columns_in, constraint_of
from tapestry.sql.infer.terms import Key
from tapestry.sql.ir import Inferred
from tapestry.sql.work import afford

MOST = 100
"""Conditions that are looked at together; of more nothing is said."""
SHORTENED = 8
"""The maximum number of conditions behind an end that are reduced to a sufficient subset."""
READING = 8
"""Units for a condition that is read."""
UNITS = 4_000
"""Units of work that the ranges of one text may cost; then no more is said."""


_TYPES = {8: "tinyint", 16: "smallint", 64: "bigint"}
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_CONTEXT = Context(prec=80)


@dataclass(frozen=True)
class Knowledge:
    """Conditions that hold of a row together.

    zone
        The session's time zone.
    texts
        Columns of text that is compared byte by byte.
    facts
        Ranges of the values of columns, of those that are not NULL: what was measured.
    """

    conditions: tuple[exp.Expr, ...]
    zone: str
    texts: Collection[Key] = frozenset()
    facts: Facts = field(default_factory=dict)

    @cached_property
    def constraints(self) -> dict[int, Constraint]:
        """Return the constraint on ranges of each condition, by number, opaque ones left out."""
        there: set[Key] = set()
        found: dict[int, Constraint] = {}
        left = dict(enumerate(self.conditions))
        for one in self.conditions:
            there.update(columns_in(one))
        while left:
            before = len(there)
            for number, one in list(left.items()):
                read = constraint_of(one, self.zone, frozenset(there))
                if read is not None:
                    found[number] = read
                    del left[number]
                    if isinstance(one.unnest(), exp.NullSafeEQ):
                        there.update(_bare_sides(one.unnest()))
            if len(there) == before:
                break
            left = {n: one for n, one in left.items() if isinstance(one.unnest(), exp.NullSafeEQ)}
        return dict(sorted(found.items()))

    @cached_property
    def columns(self) -> dict[Key, exp.Column]:
        """The columns of the conditions, with their types where these are known."""
        found: dict[Key, exp.Column] = {}
        for column in (one for each in self.conditions for one in each.find_all(exp.Column)):
            if column.type is not None or key_of(column) not in found:
                found[key_of(column)] = column
        return found

    @cached_property
    def state(self) -> RangeState | None:
        """Return the ranges from all conditions together; None if they contradict each other."""
        return self.ranges_of(self.constraints, self.facts)

    @cached_property
    def without_constants(self) -> dict[Key, KnownRange]:
        """Return the ranges from conditions over several columns alone: sums that fit a type."""
        several = {n: one for n, one in self.constraints.items() if len(one.columns) > 1}
        state = self.ranges_of(several, {})
        return {} if state is None else state.columns

    @cached_property
    def classes(self) -> Classes:
        """Return the equality classes of the columns."""
        return Classes.of(self.conditions, self.texts)

    def ranges_of(self, constraints: Mapping[int, Constraint], facts: Facts) -> RangeState | None:
        """Return the ranges from these constraints; None if that would cost too much."""
        columns = {key for one in constraints.values() for key in one.columns}
        units = len(constraints) * min(len(columns) + 2, 4) * 2
        return fixpoint(constraints, facts) if afford(units, "ranges", UNITS) else None

    def of(self, aliases: Iterable[str], own: Collection[int]) -> tuple[Inferred, ...]:
        """Return the implied conditions on single tables.

        ``own`` are the numbers of the conditions that stand where the implied ones would: what
        they say of a table alone is left out.
        """
        if not 1 < len(self.conditions) <= MOST:
            return ()
        if not afford(READING * len(self.conditions), "ranges", UNITS) or self.state is None:
            return ()
        found: list[Inferred] = []
        for alias in dict.fromkeys(aliases):
            carried = list(self.carried(alias, own))
            found += carried
            found += self.ranges(alias, own, [one.condition for one in carried])
        return tuple(found)

    def carried(self, alias: str, own: Collection[int]) -> Iterator[Inferred]:
        """Yield the conditions that equalities carry to a table, unless ranges say the same."""
        said = {self.conditions[number] for number in own}
        for number, condition in enumerate(self.conditions):
            if isinstance(self.constraints.get(number), Compared):
                continue
            for new, key, way in self.classes.carried(condition):
                if key[0] == alias and new not in said:
                    said.add(new)
                    yield Inferred(new, self.because(way | {number}))

    def ranges(
        self, alias: str, own: Collection[int], carried: Iterable[exp.Expr]
    ) -> Iterator[Inferred]:
        """Yield ends of ranges of a table's columns that its own conditions do not state."""
        assert self.state is not None
        keys = [key for key in self.state.columns if key[0] == alias]
        if not keys:
            return
        constraints = {number: self.constraints[number] for number in own & self.constraints.keys()}
        alone = {n: one for n, one in constraints.items() if {k[0] for k in one.columns} == {alias}}
        for number, one in enumerate(carried, start=len(self.conditions)):
            read = constraint_of(one, self.zone, frozenset())
            if read is not None:
                alone[number] = read
        said = self.ranges_of(alone, {})
        for key in keys:
            known = self.state.columns[key]
            before = [] if said is None else [said.columns.get(key)]
            before += [self.without_constants.get(key)]
            yield from self.ends(key, known, [one for one in before if one is not None])

    def ends(self, key: Key, known: KnownRange, before: list[KnownRange]) -> Iterator[Inferred]:
        """Yield the ends of a range that are tighter than those known already."""
        fact = self.facts.get(key, whole(known.kind))
        lows = [fact.lo, whole(known.kind).lo, *(one.range.lo for one in before)]
        highs = [fact.hi, whole(known.kind).hi, *(one.range.hi for one in before)]
        low = known.range.lo > max(lows)
        high = known.range.hi < min(highs) and not known.range.nan
        if known.range.lo == known.range.hi and (low or high) and not known.range.nan:
            # One text, not two.
            yield from self.end(key, known.kind, exp.EQ, known.range.lo, known.why)
            return
        if low:
            yield from self.end(key, known.kind, exp.GTE, known.range.lo, known.low)
        if high:
            yield from self.end(key, known.kind, exp.LTE, known.range.hi, known.high)

    def end(
        self, key: Key, kind: ValueKind, operator: type[exp.Binary], value: Number, why: Why
    ) -> Iterator[Inferred]:
        """Yield one end as a condition, if it can be written."""
        literal = _written(kind, value)
        if literal is not None:
            condition = operator(this=self.columns[key].copy(), expression=literal)
            yield Inferred(condition, self.because(self.shortened(key, operator, value, why)))

    def shortened(self, key: Key, operator: type[exp.Binary], value: Number, why: Why) -> Why:
        """Return a subset of the conditions that suffices to give an end."""
        if len(why) > SHORTENED:
            return why
        kept = set(why)
        for number in sorted(why):
            fewer = {n: self.constraints[n] for n in sorted(kept - {number})}
            state = self.ranges_of(fewer, self.facts)
            known = None if state is None else state.columns.get(key)
            if known is not None and _gives(known, operator, value):
                kept.discard(number)
        return frozenset(kept)

    def because(self, why: Why) -> tuple[exp.Expr, ...]:
        """Return the conditions with these numbers, in their order."""
        return tuple(self.conditions[number] for number in sorted(why))


def _gives(known: KnownRange, operator: type[exp.Binary], value: Number) -> bool:
    low = operator is exp.LTE or known.range.lo >= value
    high = operator is exp.GTE or (known.range.hi <= value and not known.range.nan)
    return low and high


def _bare_sides(node: exp.Expr) -> Iterator[Key]:
    for side in (node.this.unnest(), node.expression.unnest()):
        if isinstance(side, exp.Column):
            yield side.table, side.name


def _written(kind: ValueKind, value: Number) -> exp.Expr | None:
    """The value as SQL; None where not every engine has it.

    >>> from tapestry.sql.infer.kinds import value_kind
    >>> _written(value_kind("decimal(15,2)"), 5).sql("spark")
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
