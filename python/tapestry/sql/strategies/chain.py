"""The tables of a block whose LEFT JOINs are evaluated one after the other, and their places."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from sqlglot import exp

from tapestry.names import ROW_ID
from tapestry.sql.branches.selects import aliases_of, filters_of, on_of, source_columns
from tapestry.sql.facts.arrivals import arrivals, ends, match_ends, match_starts, moving
from tapestry.sql.ir import (
    Block,
    Conjunction,
    Exists,
    Inferred,
    Lower,
    SourceTable,
    Table,
    Upper,
)
from tapestry.sql.normalize.growing_joins import is_null_without
from tapestry.sql.normalize.look_ups import looked_up


def is_chain(block: Block) -> bool:
    """Return whether the block has LEFT JOINs to growing tables."""
    return bool(moving(block.tables))


def may_be_chain(disjuncts: tuple[Conjunction, ...]) -> bool:
    """Return whether all subqueries are NOT EXISTS over one table, alike in every disjunct."""
    return all(
        set(one.exists) == set(disjuncts[0].exists) and all(map(_is_absence, one.exists))
        for one in disjuncts
    )


def _is_absence(exists: Exists) -> bool:
    inner = exists.inner
    sources = [one for one in inner.tables if isinstance(one, SourceTable)]
    return exists.negated and not inner.exists and len(sources) == len(inner.tables) == 1


@dataclass(frozen=True)
class Chain:
    """The tables of such a block.

    first
        Those that have a row in every derivation.
    behind
        The look-ups, each behind those that it is joined on.
    absent
        The tables of NOT EXISTS, each as a look-up that must find nothing.
    shared
        What stands in every disjunct: it may stand beside all.
    """

    block: Block
    first: tuple[Table, ...]
    behind: tuple[SourceTable, ...]
    absent: tuple[SourceTable, ...]
    shared: Conjunction

    @classmethod
    def of(cls, block: Block) -> Chain:
        """The chain of a block."""
        behind = tuple(looked_up(block.tables))
        first = tuple(one for one in block.tables if one not in behind)
        shared = _shared(block)
        absent = tuple(_absent(one.inner) for one in shared.exists)
        return cls(block, first, behind, absent, shared)

    def is_first(self, condition: exp.Expr) -> bool:
        """Return whether a condition is in every disjunct, and about the first tables."""
        here = {table.alias for table in self.first}
        return condition in self.shared.conditions and aliases_of(condition) <= here

    def needs(self) -> dict[str, list[str]]:
        """Return alias -> columns that are used after the table has been read, and its row id."""
        nodes: list[exp.Expr] = [*self.block.select]
        for one in self.block.disjuncts:
            nodes += (c for c in one.conditions if not self.is_first(c))
            nodes += (low for low in one.lowers if low not in self.shared.lowers)
            nodes += (high for high in one.uppers if high not in self.shared.uppers)
        for table in (*self.behind, *self.absent):
            others = [*(table.on or ()), *match_starts(table), *match_ends(table)]
            used = (column for one in others for column in one.find_all(exp.Column))
            nodes += (column for column in used if column.table != table.alias)
        nodes += (exp.column(ROW_ID, table=table.alias) for table in self.block.tables)
        return source_columns(nodes)

    def met(self, table: SourceTable) -> tuple[tuple[Table, ...], list[exp.Expr]]:
        """Return a look-up with its ON conditions on the first tables, perhaps through others.

        Sound because a row that matches fulfils all of its ON: what is left out lets more rows
        through. Another look-up that an equality compares with has a row then, too.
        """
        here = {one.alias for one in self.first}
        tables: list[Table] = [replace(table, on=None, within=())]
        on = on_of(table) or ()
        kept = [one for one in filters_of(table) or () if aliases_of(one) <= here | {table.alias}]
        if any(isinstance(one, exp.EQ) and aliases_of(one) & here for one in kept):
            return tuple(tables), kept
        by_alias = {one.alias: one for one in self.behind}
        for condition in on:
            others = aliases_of(condition) - here - {table.alias}
            if not others or not _needs_all(condition, others):
                continue
            kept.append(condition)
            for other in sorted(others):
                found, beside = self.met(by_alias[other])
                tables += [one for one in found if one not in tables]
                kept += [one for one in beside if one not in kept]
        return tuple(tables), kept


def _shared(block: Block) -> Conjunction:
    first, *others = block.disjuncts

    def common(kind: str) -> tuple[exp.Expr, ...]:
        sets = [set(getattr(other, kind)) for other in others]
        return tuple(one for one in getattr(first, kind) if all(one in each for each in sets))

    conditions, lowers, uppers = common("conditions"), common("lowers"), common("uppers")
    return replace(
        first,
        conditions=conditions,
        lowers=lowers,
        uppers=uppers,
        exists=tuple(_asked_by_all(one, others) for one in first.exists),
        inferred=_of_all(first, others),
    )


def _of_all(first: Conjunction, others: list[Conjunction]) -> tuple[Inferred, ...]:
    """Return the conditions that every one of some conjunctions implies."""
    known = [{one.condition for one in other.inferred} for other in others]
    return tuple(one for one in first.inferred if all(one.condition in each for each in known))


def _asked_by_all(exists: Exists, others: list[Conjunction]) -> Exists:
    """Return a subquery of every disjunct, with the conditions on its rows that all imply."""
    inner = [one.inner for other in others for one in other.exists if one == exists]
    return replace(exists, inner=replace(exists.inner, inferred=_of_all(exists.inner, inner)))


def _absent(inner: Conjunction) -> SourceTable:
    (table,) = inner.tables
    assert isinstance(table, SourceTable)
    arrived, ended = arrivals([table]), ends([table])
    bounds = [Lower(one) for one in inner.lowers if one not in arrived]
    last = [Upper(one) for one in inner.uppers if one not in ended]
    return replace(table, on=inner.conditions, within=(*bounds, *last), inferred=inner.inferred)


def _needs_all(condition: exp.Expr, aliases: Iterable[str]) -> bool:
    """Return whether a condition of ON is true only if each of these look-ups has a row."""
    if not isinstance(condition, exp.EQ):
        return False
    sides = (condition.this, condition.expression)
    return all(any(is_null_without(side, alias) for side in sides) for alias in aliases)
