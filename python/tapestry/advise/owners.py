"""Bare columns of a query over several tables get their table written before them.

Whoever knows the tables' columns need not write ``o.amount``; here many columns are guesses, taken
from all queries of the project, so that two tables may seem to have one of that name.
"""

from __future__ import annotations

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.scope import Scope, traverse_scope

from tapestry.advise.qualify import qualify_as_where
from tapestry.advise.tables import KnownTables
from tapestry.advise.translate import text_of
from tapestry.advise.uses import CLOCKS, of_bare, parts_of, query_of
from tapestry.errors import Refusal
from tapestry.sql.read.parse import parse, table_name
from tapestry.sql.work import bounded


def with_owners(sql: str, tables: KnownTables) -> str:
    """The query with its bare columns qualified; as it was where nothing is to be done."""
    try:
        with bounded(sql):
            tree = qualify_as_where(parse(sql))
            scopes = traverse_scope(tree)
            changed = [_qualify(scope, tables) for scope in scopes]
            return text_of(tree) if any(changed) else sql
    except (Refusal, SqlglotError):
        return sql


def _qualify(scope: Scope, tables: KnownTables) -> bool:
    if not isinstance(scope.expression, exp.Select) or len(scope.selected_sources) < 2:
        return False
    merged = {
        name.name.lower()
        for join in scope.expression.args.get("joins") or []
        for name in join.args.get("using") or []
    }
    aliases = {one.alias.lower() for one in scope.expression.selects if one.alias}
    columns = {name: _columns(scope.sources[name], tables) for name in scope.selected_sources}
    changed = False
    for column in scope.columns:
        table, name, _ = parts_of(column, scope)
        name = name.lower()
        if table or name in merged or name in CLOCKS or not isinstance(column.this, exp.Identifier):
            continue
        having = [one for one, known in columns.items() if name in known]
        if len(having) != 1 and name in aliases:
            continue
        owner = having[0] if len(having) == 1 else _asked_first(scope, name)
        if owner and column.find_ancestor(exp.Select) is scope.expression:
            _set_table(column, owner)
            changed = True
    return changed


def _set_table(column: exp.Column, owner: str) -> None:
    """``a.b`` of a struct becomes ``t.a.b``: one part more, before all others."""
    names = [exp.to_identifier(owner, quoted=True), *(part.copy() for part in column.parts)]
    if len(names) > 4:
        return
    for key, name in zip(("this", "table", "db", "catalog"), reversed(names), strict=False):
        column.set(key, name)


def _asked_first(scope: Scope, name: str) -> str:
    """The table that ``uses`` takes a column to be of."""
    owner = of_bare(scope, name)
    return next((one for one in scope.selected_sources if scope.sources[one] is owner), "")


def _columns(source: exp.Expr | Scope, tables: KnownTables) -> set[str]:
    """The columns that a source is known to have."""
    if isinstance(source, exp.Table):
        return set(tables.columns(table_name(source)))
    if not isinstance(source, Scope):
        return set()
    while source.set_operation_scopes:
        source = source.set_operation_scopes[0]
    found = {name.lower() for name in query_of(source).named_selects}
    if "*" in found:
        for inner in source.selected_sources:
            found |= _columns(source.sources[inner], tables)
    return found
