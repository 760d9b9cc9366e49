"""In which order tables are joined: Spark keeps to that of FROM where there is a hint."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from tapestry.sql.branches.frame import Frame
from tapestry.sql.branches.selects import aliases_of, on_of
from tapestry.sql.branches.split_by_bound import Branch, narrowed_aliases
from tapestry.sql.ir import Table
from tapestry.sql.planner.hints import broadcast


def narrowed_first(
    tables: tuple[Table, ...], branch: Branch, conditions: Iterable[exp.Expr]
) -> tuple[Table, ...]:
    """The tables of a branch, the one it narrows in front, then what an equality joins to those.

    Look-ups come last, in their order: each row of the others is there before it is looked up.

    Spark joins in the order of FROM where there is a hint: a table that nothing joins to the ones
    before it would be multiplied with them.  Which order it is changes no answer.
    """
    aliases = narrowed_aliases(branch)
    if not aliases:
        return tables
    ordered = [table for table in tables if table.alias in aliases]
    behind = [table for table in tables if on_of(table) is not None]
    left = [table for table in tables if table.alias not in aliases and table not in behind]
    joins = _joins(conditions)
    while left:
        reached = {table.alias for table in ordered}
        following = next((table for table in left if _near(table, reached, joins)), left[0])
        left.remove(following)
        ordered.append(following)
    return tuple(ordered + behind)


def joined_after(tables: tuple[Table, ...], conditions: Iterable[exp.Expr]) -> tuple[Table, ...]:
    """Those tables after the first one that an equality joins to what stands before them."""
    joins = _joins(conditions)
    for place in range(1, len(tables)):
        if not _near(tables[place], {table.alias for table in tables[:place]}, joins):
            return tables[1:place]
    return tables[1:]


def _joins(conditions: Iterable[exp.Expr]) -> list[set[str]]:
    """The tables of each equality between several."""
    equal = (aliases_of(one) for one in conditions if isinstance(one, exp.EQ))
    return [aliases for aliases in equal if len(aliases) > 1]


def _near(table: Table, reached: set[str], joins: list[set[str]]) -> bool:
    return any(table.alias in join <= reached | {table.alias} for join in joins)


def hinted(select: exp.Select, branch: Branch, frame: Frame) -> exp.Select:
    """The select with the hint that the narrowed table is small, where that is known.

    Without it Spark, whose estimate is the size of the whole table, sorts and shuffles all rows of
    what the few are joined to.  A hint changes no answer.
    """
    aliases = narrowed_aliases(branch)
    joined = any(not join.side for join in select.args.get("joins") or [])
    if not frame.few or not aliases or not joined:
        return select
    return broadcast(select, sorted(aliases))
