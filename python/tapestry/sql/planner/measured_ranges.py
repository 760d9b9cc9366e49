"""Infers ranges of tables from measured values of a branch's few rows that they are joined to.

``r3.day <= r2.day + 10`` with ``r2.day <= r1.day + 10``: where the days of the few rows of r3 are
known, those of r2 and r1 have a range. Interval propagation as for what is written (``infer``).

Sound: a row of the branch fulfils all conditions at hand, and has a row of the narrowed table; the
values that this one has are none outside of what was measured, for what is NULL is no operand of a
condition that is TRUE.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from sqlglot import exp

from tapestry.sql.branches.frame import Frame
from tapestry.sql.branches.measured import ColumnEnds
from tapestry.sql.branches.selects import aliases_of, filters_of, on_of
from tapestry.sql.branches.split_by_bound import Branch, rows_of
from tapestry.sql.facts.common_types import type_of
from tapestry.sql.infer.classes import key_of
from tapestry.sql.infer.imply import MOST, Knowledge
from tapestry.sql.infer.kinds import Range, ValueKind, value_kind, whole
from tapestry.sql.infer.propagate import Facts
from tapestry.sql.infer.terms import Key
from tapestry.sql.ir import Conjunction, Inferred, SourceTable, Table


def ranges_of_tables(conjunction: Conjunction, branch: Branch, frame: Frame) -> list[Inferred]:
    """Return measured ranges of the other tables of the conjunction, look-ups excepted."""
    facts = facts_of(conjunction.filters, branch, frame)
    narrowed = {alias for alias, _ in facts}
    aliases = [one.alias for one in conjunction.tables if on_of(one) is None]
    others = [alias for alias in aliases if alias not in narrowed]
    return implied_ranges(conjunction.filters, (), others, facts, frame.order.zone)


def ranges_of_absent(
    conjunction: Conjunction, inner: Conjunction, branch: Branch, frame: Frame
) -> list[Inferred]:
    """Return measured ranges of the tables of a subquery of the conjunction.

    Sound for NOT EXISTS too: an inner row that is left out fails the inner conditions for every
    row of the branch.
    """
    facts = facts_of(conjunction.filters, branch, frame)
    aliases = [table.alias for table in inner.tables if on_of(table) is None]
    zone = frame.order.zone
    return implied_ranges(inner.filters, conjunction.filters, aliases, facts, zone)


def ranges_of_chain(
    conjunctions: Sequence[Conjunction], branch: Branch, frame: Frame
) -> list[Inferred]:
    """Return measured ranges of all tables of joined conjunctions; the last one's are narrowed."""
    facts = facts_of(conjunctions[-1].filters, branch, frame)
    narrowed = {alias for alias, _ in facts}
    filters = [condition for one in conjunctions for condition in one.filters]
    tables = [table for one in conjunctions for table in one.tables]
    aliases = [one.alias for one in tables if on_of(one) is None and one.alias not in narrowed]
    return implied_ranges(filters, (), aliases, facts, frame.order.zone)


def look_up_measured(
    tables: tuple[Table, ...], filters: Sequence[exp.Expr], branch: Branch, frame: Frame
) -> tuple[Table, ...]:
    """Return the tables, each look-up restricted to the ranges of the rows it is joined to.

    Sound: what is implied by ON, and by conditions that no look-up decides, of the rows that are
    looked up. One that is left out is met by no row of the branch.
    """
    facts = facts_of(filters, branch, frame)
    first = {table.alias for table in tables if on_of(table) is None}
    shared = [one for one in filters if aliases_of(one) <= first and not one.find(exp.Query)]

    def narrowed(table: Table) -> Table:
        on = filters_of(table)
        if not facts or on is None or not isinstance(table, SourceTable):
            return table
        found = implied_ranges(on, shared, [table.alias], facts, frame.order.zone)
        return replace(table, on=(*(table.on or ()), *texts(found)))

    return tuple(map(narrowed, tables))


def texts(found: Iterable[Inferred]) -> list[exp.Expr]:
    """Return the conditions alone."""
    return [one.condition for one in found]


def implied_ranges(
    own: Iterable[exp.Expr],
    around: Iterable[exp.Expr],
    aliases: Iterable[str],
    facts: Facts,
    zone: str,
) -> list[Inferred]:
    """Return conditions on single tables implied by conditions and by facts about other tables.

    ``own`` are the conditions that stand beside the new ones: what they say of a table alone is
    left out; those ``around`` hold, too.
    """
    mine = dict.fromkeys(own)
    every = tuple(dict.fromkeys((*mine, *around)))
    if not facts or len(every) > MOST:
        return []
    knowledge = Knowledge(every, zone, facts=facts)
    if knowledge.state is None:
        return []
    numbers = range(len(mine))
    return [one for alias in aliases for one in knowledge.ranges(alias, numbers, ())]


def facts_of(filters: Iterable[exp.Expr], branch: Branch, frame: Frame) -> Facts:
    """Return the measured ranges of the rows to which a branch narrows its table."""
    measured, filters = frame.measured, tuple(filters)
    rows = None if measured is None else rows_of(filters, branch)
    if rows is None or measured is None or rows not in measured.ends:
        return {}
    kinds = kinds_of(filters)
    found: dict[Key, Range] = {}
    for one in measured.ends[rows]:
        kind = kinds.get((rows.alias, one.name))
        if kind is not None:
            found[rows.alias, one.name] = range_between(one, kind)
    return found


def kinds_of(conditions: Iterable[exp.Expr]) -> dict[Key, ValueKind]:
    """Return the types of the columns whose ranges are tracked."""
    columns = (column for one in conditions for column in one.find_all(exp.Column))
    kinds = ((key_of(column), value_kind(type_of(column))) for column in columns)
    return {key: kind for key, kind in kinds if kind is not None}


def range_between(ends: ColumnEnds, kind: ValueKind) -> Range:
    """Return the range between measured ends; without an upper end, NaN may be in it."""
    every = whole(kind)
    low = every.lo if ends.low is None else ends.low
    if ends.high is None:
        return Range(low, every.hi, every.nan)
    return Range(low, ends.high)
