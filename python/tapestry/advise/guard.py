"""Finds the likely arrival: the columns that the text behind is_incremental() compares."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.scope import Scope, traverse_scope

from tapestry.advise.context import THIS
from tapestry.errors import Refusal
from tapestry.sql.read.parse import parse, table_name

_NEWER = (exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between, exp.EQ, exp.In)


def arrivals_in_guard(plain: str, guarded: str) -> dict[str, str]:
    """Return relation -> the column of it that the guard compares.

    First the comparisons that ask the table itself: ``ts > (select max(ts) from {{ this }})``.
    Then all others that only the guarded text has (a fixed look-back).
    """
    try:
        scopes = traverse_scope(parse(guarded))
        before = {one.sql("spark") for one in parse(plain).find_all(*_NEWER)}
    except (Refusal, SqlglotError):
        return {}
    found: dict[str, str] = {}
    for own in (True, False):
        for scope in scopes:
            for comparison in _comparisons(scope):
                asks_itself = any(t.db == THIS for t in comparison.find_all(exp.Table))
                if asks_itself == own and comparison.sql("spark") not in before:
                    for column in _columns(comparison):
                        with suppress(SqlglotError):  # two tables of one name in FROM
                            _note(scope, column, found)
    return found


def _comparisons(scope: Scope) -> Iterator[exp.Expr]:
    if isinstance(scope.expression, exp.Select):
        for clause in ("where", "having", "qualify"):
            condition = scope.expression.args.get(clause)
            if condition is not None:
                for node in condition.walk(prune=lambda one: isinstance(one, exp.Query)):
                    if isinstance(node, _NEWER):
                        yield node
        for join in scope.expression.args.get("joins") or []:
            if join.args.get("on") is not None:
                yield from join.args["on"].find_all(*_NEWER)


def _columns(comparison: exp.Expr) -> Iterator[exp.Column]:
    """The columns compared, those of subqueries left out."""
    for node in comparison.walk(prune=lambda one: isinstance(one, exp.Query)):
        if isinstance(node, exp.Column):
            yield node


def _note(scope: Scope, column: exp.Column, found: dict[str, str]) -> None:
    traced = trace(scope, column)
    if traced is not None and not traced[0].startswith(f"{THIS}."):
        found.setdefault(*traced)


def trace(scope: Scope, column: exp.Column, depth: int = 0) -> tuple[str, str] | None:
    """Return the relation and column that a column comes from, through CTEs that only pass it
    on.
    """
    table = column.table
    names = [one for one in scope.selected_sources if one in scope.sources]
    if not table:
        table = names[0] if len(names) == 1 else ""
    source = scope.sources.get(table)
    if isinstance(source, exp.Table):
        return table_name(source), column.name.lower()
    if not isinstance(source, Scope) or depth > 50:
        return None
    while source.set_operation_scopes:
        source = source.set_operation_scopes[0]
    if not isinstance(source.expression, exp.Select):
        return None
    for item in source.expression.selects:
        inner = item.unalias()
        if item.alias_or_name.lower() == column.name.lower() and isinstance(inner, exp.Column):
            return trace(source, inner, depth + 1)
        if item.is_star:
            over = inner.table if isinstance(inner, exp.Column) else ""
            return trace(source, exp.column(column.name, table=over or None), depth + 1)
    return None
