"""Split ``max(L_1 ... L_k) in (tau, t]`` into disjoint branches that each narrow one source.

    branch j:  L_j > tau,  L_i <= tau for i < j,  all L <= t        (semantics, section 2)

The branches are disjoint and together exactly ``max L in (tau, t]``.  A bound known never to lie
after another one makes no branch; where its row may have come late the branch stays, narrowed to
rows whose ts is not after tau, which are the late ones only.

Where all sources are small, what a branch reads less is not worth its plan:

    unsplit:   greatest(L_1 ... L_k) > tau,  all L <= t

is the same, for greatest skips a NULL, but ``L <= t`` does not.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from sqlglot import exp

from tapestry.sql import timing
from tapestry.sql.branches.frame import Frame, at_most, greater, greatest
from tapestry.sql.branches.measured import Measured, NarrowedRows
from tapestry.sql.branches.order import Order
from tapestry.sql.branches.selects import aliases_of
from tapestry.sql.facts.fixed_lengths import base_and_offset
from tapestry.sql.work import spend
from tapestry.sql.write import build


@dataclass(frozen=True)
class Branch:
    """One branch: its conditions, and the bound that falls into the window (None: any of them)."""

    narrowed: exp.Expr | None
    conditions: tuple[exp.Expr, ...]


def drop_redundant_bounds(bounds: tuple[exp.Expr, ...], order: Order) -> tuple[exp.Expr, ...]:
    """Return the bounds without those that another one implies, the implying ones in front.

    The result has the same maximum; a bound of a source with late rows is kept behind the bounds
    that would imply it.
    """
    spend(len(bounds) ** 2 // 4, "pairs of bounds")
    kept: list[exp.Expr] = []
    behind: list[exp.Expr] = []
    for i, bound in enumerate(bounds):
        implied = any(
            order.not_after(bound, other) and not (order.not_after(other, bound) and i < j)
            for j, other in enumerate(bounds)
            if i != j
        )
        if not implied:
            kept.append(bound)
        elif order.needs_late(bound):
            behind.append(bound)
    return tuple(kept + behind)


def split_by_bound(bounds: tuple[exp.Expr, ...], frame: Frame) -> list[Branch]:
    """The branches of ``max(bounds) in (tau, t]``; a single one where the frame is unsplit."""
    order = frame.order
    listed, bounds = bounds, drop_redundant_bounds(bounds, order)
    reached = tuple(by(bound, frame.t, exp.LTE, order) for bound in bounds)
    present = _present(listed, bounds, order)
    if frame.tau is None or not bounds:
        return [Branch(None, reached + present)]
    if frame.unsplit and len(bounds) > 1:
        return [Branch(None, (greater(greatest(bounds), frame.tau), *reached, *present))]
    branches = []
    for j, bound in enumerate(bounds):
        conditions = [by(bound, frame.tau, exp.GT, order), reached[j]]
        conditions += [by(earlier, frame.tau, exp.LTE, order) for earlier in bounds[:j]]
        conditions += reached[j + 1 :]
        if order.needs_late(bound) and any(order.not_after(bound, e) for e in bounds[:j]):
            conditions.append(_in_time_before(bound, frame))
        branches.append(Branch(bound, (*conditions, *present)))
    return branches


def _present(
    listed: tuple[exp.Expr, ...], kept: tuple[exp.Expr, ...], order: Order
) -> tuple[exp.Expr, ...]:
    """Return conditions that a row has a ts, where no remaining bound implies it.

    One on the ts or the arrival of the same table does, each is NULL where the other is; a bound on
    another column of that table does not.
    """
    anchors = (order.anchor(bound) for bound in kept)
    seen = {anchor.alias for anchor in anchors if anchor is not None}
    bases = [base_and_offset(bound, order.zone)[0] for bound in kept]
    return tuple(
        build.not_null(bound)
        for bound in listed
        if base_and_offset(bound, order.zone)[0] not in bases
        and not ((anchor := order.anchor(bound)) is not None and anchor.alias in seen)
    )


def by(bound: exp.Expr, instant: exp.Expr, operator: type[exp.Binary], order: Order) -> exp.Expr:
    """Return ``bound operator instant`` with the column alone: ``m.ts > tau - 28 days``.

    File and page statistics know columns, not sums.  Exact, because an interval of fixed length can
    change sides, and only such intervals are moved.
    """
    base, offset = base_and_offset(bound, order.zone)
    if offset and isinstance(base, exp.Column) and base.is_type("timestamptz", "timestamp"):
        return operator(this=base.copy(), expression=shifted(instant, -offset))
    return operator(this=bound.copy(), expression=instant.copy())


def narrowed_aliases(branch: Branch) -> set[str]:
    """Return the aliases that a branch narrows; none if it reads all of history."""
    return set() if branch.narrowed is None else aliases_of(branch.narrowed)


def own_conditions(
    conditions: Iterable[exp.Expr], branch: Branch, aliases: set[str]
) -> list[exp.Expr]:
    """The conditions on the tables called ``aliases`` alone, those of the branch among them."""
    every = (*conditions, *branch.conditions)
    used = ((condition, aliases_of(condition)) for condition in every)
    return [condition for condition, tables in used if tables and tables <= aliases]


def narrowing(bound: exp.Expr, aliases: set[str], frame: Frame) -> list[exp.Expr]:
    """Return conditions on the ts of other tables that ``bound > tau`` and known orders imply.

    From ``m.ts + i > tau`` and ``m.ts <= r.ts + k`` follows ``r.ts > tau - i - k``: a range that
    reaches the scan of r.  It holds for ts itself, so late rows do not matter, except that the
    arrival of a late row says nothing about its ts: in the place of tau stands what is known to lie
    before the ts of every row that arrives after it (network, section 1: ρ).
    """
    order = frame.order
    base, offset = base_and_offset(bound, order.zone)
    start = frame.tau
    if order.needs_late(bound):
        start = None if offset else order.since.get(base.text("table"))
    if frame.tau is None or start is None:
        return []
    implied = []
    for alias in sorted(aliases):
        back = behind(bound, alias, order)
        if back is not None:
            implied.append(greater(ts_of(alias, order), shifted(start, -back)))
    return implied


def behind(bound: exp.Expr, alias: str, order: Order) -> int | None:
    """Return how many microseconds a bound is after the ts of a row at most; None: unknown."""
    if alias not in order.arrival_columns:
        return None
    base, offset = base_and_offset(bound, order.zone)
    here, there = order.node_of(base), order.node(alias)
    least = None if here == there else order.net.over(here, there)
    return None if least is None or not order.movable(offset + least) else offset + least


def _in_time_before(bound: exp.Expr, frame: Frame) -> exp.Expr:
    anchor = frame.order.anchor(bound)
    assert anchor is not None
    assert frame.tau is not None
    ts = ts_of(anchor.alias, frame.order)
    return at_most(ts, shifted(frame.tau, -anchor.offset))


def ts_of(alias: str, order: Order) -> exp.Expr:
    """The arrival column of a table: its ts, whenever the row really arrived."""
    return exp.column(order.arrival_columns[alias], table=alias)


def shifted(instant: exp.Expr, micros: int) -> exp.Expr:
    """The instant moved by some microseconds."""
    if not micros:
        return instant.copy()
    kind = exp.Add if micros > 0 else exp.Sub
    moved, rest = instant.copy(), abs(micros)
    for unit, size in (("HOUR", 3_600_000_000), ("SECOND", 1_000_000), ("MICROSECOND", 1)):
        amount, rest = divmod(rest, size)
        if amount:
            moved = kind(this=moved, expression=timing.interval(amount, unit))
    return moved


def rows_of(conditions: Iterable[exp.Expr], branch: Branch) -> NarrowedRows | None:
    """Return the rows to which a branch of a conjunction with these conditions narrows its table.

    None where it narrows none, or several together.
    """
    aliases = narrowed_aliases(branch)
    if len(aliases) != 1:
        return None
    (alias,) = aliases
    return NarrowedRows(alias, frozenset(own_conditions(conditions, branch, aliases)))


def with_rows(
    branches: list[Branch], conditions: tuple[exp.Expr, ...], measured: Measured | None
) -> list[Branch]:
    """Return the branches that have rows; if none has, one that is known to be empty.

    Sound: every row that a branch finds has one of the table that it narrows, for which the
    conditions of the conjunction on that table hold.
    """
    if measured is None or not measured.none:
        return branches
    kept = [one for one in branches if rows_of(conditions, one) not in measured.none]
    return kept or [replace(branches[0], conditions=(exp.false(), *branches[0].conditions))]
