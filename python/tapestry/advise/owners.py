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
    """Return the query with its bare columns qualified; unchanged if there are none."""
    try:
        with bounded(sql):
            tree = qualify_as_where(parse(sql))
            scopes, known = traverse_scope(tree), _Known(tables)
            changed = [_qualify(scope, known) for scope in scopes]
            return text_of(tree) if any(changed) else sql
    except (Refusal, SqlglotError):
        return sql


def _qualify(scope: Scope, known: _Known) -> bool:
    if not isinstance(scope.expression, exp.Select) or len(scope.selected_sources) < 2:
        return False
    merged = {
        name.name.lower()
        for join in scope.expression.args.get("joins") or []
        for name in join.args.get("using") or []
    }
    aliases = {one.alias.lower() for one in scope.expression.selects if one.alias}
    columns = {name: known.columns(scope.sources[name]) for name in scope.selected_sources}
    changed = False
    for column in scope.columns:
        table, name, _ = parts_of(column, scope)
        name = name.lower()
        if table or name in merged or name in CLOCKS or not isinstance(column.this, exp.Identifier):
            continue
        having = [one for one, names in columns.items() if name in names]
        if len(having) != 1 and name in aliases:
            continue
        owner = having[0] if len(having) == 1 else _asked_first(scope, name)
        if owner and column.find_ancestor(exp.Select) is scope.expression:
            _set_table(column, owner)
            changed = True
    return changed


def _set_table(column: exp.Column, owner: str) -> None:
    """Make ``a.b`` of a struct ``t.a.b``, with the table before all other parts."""
    names = [exp.to_identifier(owner, quoted=True), *(part.copy() for part in column.parts)]
    if len(names) > 4:
        return
    for key, name in zip(("this", "table", "db", "catalog"), reversed(names), strict=False):
        column.set(key, name)


def _asked_first(scope: Scope, name: str) -> str:
    """Return the table to which ``uses`` assigns a column."""
    owner = of_bare(scope, name)
    return next((one for one in scope.selected_sources if scope.sources[one] is owner), "")


class _Known:
    """The known columns of sources, cached.

    A CTE that two others read twice each would else be asked as often as there are ways to it.
    """

    def __init__(self, tables: KnownTables) -> None:
        self._tables = tables
        self._found: dict[int, set[str]] = {}

    def columns(self, source: exp.Expr | Scope) -> set[str]:
        """Return the names of a source's columns in lower case; none if they are unknown."""
        if isinstance(source, exp.Table):
            return set(self._tables.columns(table_name(source)))
        if not isinstance(source, Scope):
            return set()
        while source.set_operation_scopes:
            source = source.set_operation_scopes[0]
        if id(source) not in self._found:
            self._found[id(source)] = self._of_query(source)
        return self._found[id(source)]

    def _of_query(self, source: Scope) -> set[str]:
        found = {name.lower() for name in query_of(source).named_selects}
        if "*" in found:
            for inner in source.selected_sources:
                found |= self.columns(source.sources[inner])
        return found
