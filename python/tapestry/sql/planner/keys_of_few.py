"""Renders the conditions that a branch's few rows imply for the tables joined to them.

``m2.inreplyto = m1.msgid AND m1.inreplyto = m.msgid`` with few m2 implies ``m1.msgid IN (SELECT
m2.inreplyto FROM m2 WHERE ...)`` and in turn ``m.msgid IN (SELECT m1.inreplyto FROM m1 WHERE
...)``. Spark sends such keys to the scan. A join does as much; but where ids of rows are asked for,
an id may be a window over its table: no join gets through it, a condition on the content does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from sqlglot import exp

from tapestry.names import ROW_ID
from tapestry.sql.branches.frame import Frame
from tapestry.sql.branches.selects import Reads, aliases_of, on_of, where
from tapestry.sql.branches.split_by_bound import Branch, narrowed_aliases, own_conditions
from tapestry.sql.ir import Block, Conjunction, Exists, SourceTable, Table
from tapestry.sql.planner.hints import broadcast, few_keys
from tapestry.sql.write import build


def keys_of_few(
    block: Block,
    conjunction: Conjunction,
    branch: Branch,
    frame: Frame,
    reads: Reads,
    measured: Sequence[exp.Expr] = (),
) -> list[exp.Expr]:
    """Conditions that the joins of the conjunction imply; none where the few are not known to be.

    ``measured`` are further conditions that hold of rows of the branch.

    Sound: each says of a table what an equality of the conjunction says of the rows joined to it.
    """
    aliases = narrowed_aliases(branch)
    with_ids = _with_ids(block)
    if not frame.few or len(aliases) != 1 or not with_ids:
        return []
    tables = {table.alias: table for table in conjunction.tables}
    filters = (*conjunction.filters, *measured)
    known = {one: own_conditions(filters, branch, {one}) for one in tables}
    implied: list[exp.Expr] = []
    reached = aliases
    while True:
        found = list(_next(conjunction.conditions, reached, set(tables)))
        if not found:
            return implied
        for key, wanted in found:
            (alias,) = aliases_of(key)
            (source,) = aliases_of(wanted)
            if alias in reached:
                continue  # another key of the same table was enough
            condition = exp.In(
                this=key.copy(), query=_keys(tables[source], wanted, known[source], frame, reads)
            )
            known[alias] = [*known[alias], condition]
            reached = reached | {alias}
            if alias in with_ids:
                implied.append(condition)


def look_up_few(
    tables: tuple[Table, ...],
    conditions: Iterable[exp.Expr],
    branch: Branch,
    frame: Frame,
    reads: Reads,
) -> tuple[Table, ...]:
    """Return the tables, each look-up restricted to the keys of the few rows that it is joined to.

    Sound: the condition is implied by the equality beside it. Without it Spark, which cannot send
    the left side of an outer join to the right one, would sort all of the right side.
    """
    narrowed = [table for table in tables if {table.alias} == narrowed_aliases(branch)]
    if not frame.few or not narrowed:
        return tables
    (few,) = narrowed
    own = own_conditions(conditions, branch, {few.alias})

    def keyed(table: Table) -> Table:
        on = on_of(table) or ()
        for key, wanted in _next(on, {few.alias}, {few.alias, table.alias}):
            asked = exp.In(this=key.copy(), query=_keys(few, wanted, own, frame, reads))
            return replace(table, on=(*on, asked)) if isinstance(table, SourceTable) else table
        return table

    return tuple(map(keyed, tables))


def only_keys_of(
    conjunction: Conjunction, branch: Branch, exists: Exists, frame: Frame, reads: Reads
) -> list[exp.Expr]:
    """Return conditions that restrict the inner rows to the keys of the branch's rows.

    ``r.parent = m.id`` with few m: ``r.parent IN (SELECT m.id FROM m WHERE ...)`` is implied, and
    lets Spark send the few keys to the scan of r instead of shuffling all of r.
    """
    outer = narrowed_aliases(branch)
    narrowed = [table for table in conjunction.tables if table.alias in outer]
    if len(narrowed) != 1:
        return []
    own = own_conditions(conjunction.filters, branch, outer)
    inner = {table.alias for table in exists.inner.tables}
    for condition in exists.inner.conditions:
        if not isinstance(condition, exp.EQ):
            continue
        sides = (condition.this, condition.expression)
        if not _same_type(*sides):
            continue
        for key, wanted in (sides, sides[::-1]):
            if aliases_of(wanted) == outer and aliases_of(key) and aliases_of(key) <= inner:
                keys = reads.from_clause(build.select([wanted.copy()]), (narrowed[0],), frame)
                keys = few_keys(keys, outer) if frame.few else keys
                keys = where(keys, own)
                return [exp.In(this=key.copy(), query=keys.subquery())]
    return []


def _with_ids(block: Block) -> set[str]:
    """Return the tables whose row ids are in the select list."""
    return {
        column.table
        for value in block.select
        for column in value.find_all(exp.Column)
        if column.name == ROW_ID
    }


def _next(
    conditions: Iterable[exp.Expr], reached: set[str], tables: set[str]
) -> Iterator[tuple[exp.Expr, exp.Expr]]:
    """Yield equalities (key of a table that is not reached, value of one that is reached)."""
    for condition in conditions:
        if not isinstance(condition, exp.EQ) or condition.find(exp.Query):
            continue
        sides = (condition.this, condition.expression)
        if not _same_type(*sides):
            continue
        for key, wanted in (sides, sides[::-1]):
            here, there = aliases_of(key), aliases_of(wanted)
            if len(here) == len(there) == 1 and there <= reached and here <= tables - reached:
                yield key, wanted


def _same_type(one: exp.Expr, other: exp.Expr) -> bool:
    """Return whether two values are known to have one type, as IN may not cast like ``=``.

    >>> from sqlglot.optimizer.annotate_types import annotate_types
    >>> _same_type(annotate_types(exp.convert(1)), annotate_types(exp.convert("1")))
    False
    """
    known = one.type is not None and not one.is_type("unknown")
    return known and one.type == other.type


def _keys(
    table: Table, wanted: exp.Expr, conditions: list[exp.Expr], frame: Frame, reads: Reads
) -> exp.Subquery:
    """``(SELECT /*+ BROADCAST(few) */ few.key FROM (SELECT DISTINCT ...) AS few)``."""
    named = exp.alias_(wanted.copy(), "key")
    inner = reads.from_clause(build.select([named]), (table,), frame)
    inner.set("distinct", exp.Distinct())
    alias = exp.TableAlias(this=exp.to_identifier("few"))
    derived = exp.Subquery(this=where(inner, conditions), alias=alias)
    keys = build.add_from(build.select([exp.column("key", table="few")]), derived)
    return exp.Subquery(this=broadcast(keys, ["few"]))
