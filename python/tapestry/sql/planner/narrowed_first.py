"""Orders the tables of a branch: where there is a hint, Spark joins in the order of FROM."""

from __future__ import annotations

import math
from collections.abc import Iterable

from sqlglot import exp

from tapestry.sql.branches.frame import Frame
from tapestry.sql.branches.selects import aliases_of, on_of
from tapestry.sql.branches.split_by_bound import Branch, behind, narrowed_aliases
from tapestry.sql.ir import Table
from tapestry.sql.planner.hints import broadcast


def narrowed_first(
    tables: tuple[Table, ...], branch: Branch, conditions: Iterable[exp.Expr], frame: Frame
) -> tuple[Table, ...]:
    """The tables of a branch, the one it narrows in front, then what an equality joins to those.

    Of several the one of which the least is read (``Frame.joins``); of equal ones, or where nobody
    knows, the first in FROM.  What the author names stands in the author's order: behind the
    narrowed table, or before it if it is named too.

    Look-ups come last, in their order: each row of the others is there before it is looked up.

    Spark joins in the order of FROM where there is a hint: a table that nothing joins to the ones
    before it would be multiplied with them.  Which order it is changes no answer.
    """
    aliases = narrowed_aliases(branch)
    inner = [table for table in tables if on_of(table) is None]
    named = frame.joins.first(inner)
    if not aliases:
        return (*named, *(table for table in tables if table not in named))
    ordered = [table for table in inner if table.alias in aliases and table not in named] + named
    left = [table for table in inner if table not in ordered]
    joins = _joins(conditions)
    while left:
        reached = {table.alias for table in ordered}
        near = [table for table in left if _near(table, reached, joins)]
        following = min(near, key=lambda one: _weight(one, branch, frame)) if near else left[0]
        left.remove(following)
        ordered.append(following)
    return tuple(ordered + [table for table in tables if on_of(table) is not None])


def _weight(table: Table, branch: Branch, frame: Frame) -> float:
    """Return the bytes that are read of a table where the branch's bound lies in the window."""
    assert branch.narrowed is not None
    back = behind(branch.narrowed, table.alias, frame.order)
    left = frame.joins.left(table, back)
    return math.inf if left is None else left


def joined_after(tables: tuple[Table, ...], conditions: Iterable[exp.Expr]) -> tuple[Table, ...]:
    """Return the tables after the first that an equality joins to those before them."""
    joins = _joins(conditions)
    for place in range(1, len(tables)):
        if not _near(tables[place], {table.alias for table in tables[:place]}, joins):
            return tables[1:place]
    return tables[1:]


def _joins(conditions: Iterable[exp.Expr]) -> list[set[str]]:
    """Return the tables of each equality between several."""
    equal = (aliases_of(one) for one in conditions if isinstance(one, exp.EQ))
    return [aliases for aliases in equal if len(aliases) > 1]


def _near(table: Table, reached: set[str], joins: list[set[str]]) -> bool:
    return any(table.alias in join <= reached | {table.alias} for join in joins)


def hinted(select: exp.Select, branch: Branch, frame: Frame) -> exp.Select:
    """Return the SELECT with the hint that the narrowed table is small, if that is known.

    Without it Spark, whose estimate is the size of the whole table, sorts and shuffles all rows of
    what the few are joined to.  A hint changes no answer.
    """
    aliases = narrowed_aliases(branch)
    joined = any(not join.side for join in select.args.get("joins") or [])
    if not frame.few or not aliases or not joined:
        return select
    return broadcast(select, sorted(aliases))
