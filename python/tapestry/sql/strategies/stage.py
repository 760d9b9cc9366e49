"""One LEFT JOIN of a chain: splits each row so far in time by the rows that it matches.

    hit       the pair, while both hold
    before    the row with NULLs, until the first match begins
    after     the row with NULLs, from where all matches so far have ended to where the next begins

A match is never NULL in its bounds: one whose bound is NULL matches at no instant, and is left out
before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from tapestry.sql.branches.frame import greatest, least, less
from tapestry.sql.branches.selects import where
from tapestry.sql.write import build

ROW, KIND = "_r", "_k"
"""Aliases: of a row so far, and of the kinds of rows that a join makes of it."""
HIT, BEFORE, AFTER = 1, 2, 3


@dataclass(frozen=True)
class Stage:
    """The ``number``-th LEFT JOIN, over rows that hold in ``[low, high)``, NULL being for ever.

    ``ends``: may a match end? ``absent``: are rows with a match left out?
    """

    number: int
    low: exp.Expr
    high: exp.Expr
    ends: bool
    absent: bool = False

    def name(self, kind: str) -> str:
        """The name of a column of this stage: rows have those of the stages before, too."""
        return f"_{kind}_{self.number}"

    def column(self, kind: str) -> exp.Expr:
        """Return a column of this stage in a row."""
        return exp.column(self.name(kind), table=ROW)

    def ranked(self, pairs: exp.Subquery, keys: Sequence[exp.Expr]) -> exp.Select:
        """The pairs, each with its place among those of its row, and what the others say.

        ``_b`` and ``_e`` are from when to when a pair matches; NULL for a row without a match.
        """
        order = [self.column("b"), self.column("e")] if self.ends else [self.column("b")]
        groups = [*keys, self.low]
        listed = [all_of_row(), exp.alias_(place_in(groups, order), self.name("place"))]
        if self.ends:
            reach = window(exp.Max(this=self.column("e")), groups, order)
            so_far = {"start": "UNBOUNDED", "start_side": "PRECEDING", "end": "CURRENT ROW"}
            reach.set("spec", exp.WindowSpec(kind="ROWS", **so_far))
            following = window(exp.Lead(this=self.column("b")), groups, order)
            listed.append(exp.alias_(reach, self.name("reach")))
            listed.append(exp.alias_(following, self.name("next")))
        return build.add_from(build.select(listed), pairs)

    def rows(self, ranked: exp.Subquery, columns: Sequence[exp.Expr]) -> exp.Select:
        """The rows with each match, and those with NULLs; ``columns``: the table's, as named."""
        listed: list[exp.Expr] = [all_of_row()]
        for place, column in enumerate(columns):
            value = case(self.is_kind(HIT), self.column(f"c{place}"))
            listed.append(build.named(value, column.alias))
        kinds = [] if self.absent else [HIT]
        kinds += [BEFORE, AFTER] if self.ends else [BEFORE]
        low, high = ({one: how(one) for one in kinds} for how in (self.lower, self.upper))
        listed.append(exp.alias_(self.by_kind(low), self.name("lo")))
        listed.append(exp.alias_(self.by_kind(high), self.name("hi")))
        numbers = [build.select([exp.alias_(exp.Literal.number(n), "kind")]) for n in kinds]
        select = build.add_from(build.select(listed), ranked)
        build.add_from(select, build.subquery(build.union_all(numbers), KIND))
        held = [build.conjunction([self.is_kind(one), *self.holds(one)]) for one in kinds]
        return where(select, [any_of([one for one in held if one is not None])])

    def is_kind(self, kind: int) -> exp.Expr:
        """Return the condition that a row is of this kind."""
        kinds = exp.column("kind", table=KIND)
        return exp.EQ(this=kinds, expression=exp.Literal.number(kind))

    def by_kind(self, values: Mapping[int, exp.Expr]) -> exp.Expr:
        """Return the value for a row's kind, of one value for each kind."""
        *others, (_, last) = values.items()
        ifs = [exp.If(this=self.is_kind(kind), true=value) for kind, value in others]
        return exp.Case(ifs=ifs, default=last) if ifs else last

    def lower(self, kind: int) -> exp.Expr:
        """Return the instant from which a row of this kind holds."""
        if kind == BEFORE:
            return self.low.copy()
        return greatest((self.low, self.column("b" if kind == HIT else "reach")))

    def upper(self, kind: int) -> exp.Expr:
        """Return the instant until which a row of this kind holds; NULL for ever."""
        if kind == HIT:
            return least((self.high, self.column("e"))) if self.ends else self.high.copy()
        return least((self.high, self.column("b" if kind == BEFORE else "next")))

    def holds(self, kind: int) -> Iterator[exp.Expr]:
        """Yield the conditions that a row of this kind holds at some instant."""
        if kind == BEFORE:
            first = exp.EQ(this=self.column("place"), expression=exp.Literal.number(1))
            yield first
            yield exp.Paren(this=less_or_null(self.low, self.column("b")))
            return
        lower = self.lower(kind)
        yield build.not_null(self.column("b" if kind == HIT else "reach"))
        yield exp.Paren(this=less_or_null(lower, self.high))
        if kind == AFTER:
            yield exp.Paren(this=less_or_null(lower, self.column("next")))
        elif self.ends:
            yield less(lower, self.column("e"))


# -- small pieces of SQL --------------------------------------------------------------------------
def all_of_row() -> exp.Expr:
    """``_r.*``."""
    return exp.Column(this=exp.Star(), table=exp.to_identifier(ROW))


def less_or_null(low: exp.Expr, high: exp.Expr) -> exp.Expr:
    """``low < high``, where NULL is for ever."""
    never = exp.Is(this=high.copy(), expression=exp.Null())
    return exp.Or(this=never, expression=less(low, high))


def case(condition: exp.Expr | None, value: exp.Expr) -> exp.Expr:
    """The value where the condition is true, else NULL."""
    return value if condition is None else exp.Case(ifs=[exp.If(this=condition, true=value)])


def any_of(conditions: Sequence[exp.Expr]) -> exp.Expr:
    """Return the condition that one of these is true; false for none."""
    together = None
    for one in conditions:
        part = exp.Paren(this=one) if isinstance(one, exp.And) else one
        together = part if together is None else exp.Or(this=together, expression=part)
    return exp.false() if together is None else together


def window(function: exp.Expr, groups: Sequence[exp.Expr], order: Sequence[exp.Expr]) -> exp.Window:
    """A window function."""
    ordered = [exp.Ordered(this=one.copy()) for one in order]
    return exp.Window(
        this=function,
        partition_by=[one.copy() for one in groups],
        order=exp.Order(expressions=ordered),
    )


def place_in(groups: Sequence[exp.Expr], order: Sequence[exp.Expr]) -> exp.Window:
    """The place of a row in its group."""
    return window(exp.RowNumber(), groups, order)
