"""Refuse a name, or a star, for which a relation in FROM has two columns.

    SELECT x.id FROM (SELECT id, v AS id FROM m) x     ambiguous, as Spark says
    SELECT x.* FROM (SELECT id, v AS id FROM m) x      to Spark two columns: not to be told apart
    SELECT x.id FROM (SELECT id, id FROM m) x          one column of m, twice: whichever it is

sqlglot takes one of two equal names, and leaves a star over them as it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from sqlglot import exp
from sqlglot.optimizer.resolver import Resolver
from sqlglot.optimizer.scope import Scope, traverse_scope
from sqlglot.schema import Schema

from tapestry.errors import Refusal
from tapestry.sql.read.expand_stars import stars_in
from tapestry.sql.read.spelling import is_written


class _Doubled:
    """The names that relations have more than once, cached by relation."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[exp.Expr, dict[str, list[exp.Expr]]]] = {}

    def of(self, source: object) -> dict[str, list[exp.Expr]]:
        """Return the items of a derived table or CTE by name, for names that several items have."""
        while isinstance(source, Scope) and source.set_operation_scopes:
            source = source.set_operation_scopes[0]  # the first arm names the columns
        if not isinstance(source, Scope) or not isinstance(source.expression, exp.Query):
            return {}
        block = source.expression
        if id(block) not in self._known:
            items: dict[str, list[exp.Expr]] = {}
            for item in block.selects:
                items.setdefault(item.alias_or_name, []).append(item)
            several = {name: found for name, found in items.items() if len(found) > 1}
            self._known[id(block)] = (block, several)
        return self._known[id(block)][1]


def refuse_equal_columns(written: exp.Query, qualified: exp.Query, schema: Schema) -> None:
    """Raise Refusal where a column, or a star, could mean two columns of one relation.

    Goes over the query after its names are resolved, and before stars in arguments are written out;
    ``written`` is the same query before that.
    """
    _refuse_equal_aliases(written)
    doubled, scopes = _Doubled(), traverse_scope(qualified)
    _refuse_equal_items(written, scopes, schema)
    for scope in scopes:
        for star in _stars(scope.expression):
            _refuse_star(star, scope, doubled)
        for column in scope.columns:
            source = scope.sources.get(column.table)
            items = doubled.of(source).get(column.name, [])
            if items and not _is_one_column(items, source):
                raise _ambiguous(
                    f"{column.table} has {_times(items)} columns called {column.name}, and a"
                    " condition, a join or a select list asks for that name",
                    f"{column.sql('spark')}: {_listed(items)}",
                )


def _refuse_equal_aliases(written: exp.Query) -> None:
    """Raise Refusal for ``x(a, a)``, an alias whose list of columns has a name twice.

    After names are resolved there is no such list.
    """
    for alias in written.find_all(exp.TableAlias):
        for name in _several(one.name for one in alias.columns):
            raise _ambiguous(f"{alias.name} has two columns called {name}", alias.sql("spark"))


def _refuse_equal_items(written: exp.Query, scopes: Sequence[Scope], schema: Schema) -> None:
    """Raise Refusal for ``SELECT a AS k, b AS k, k + 1 AS n``, where k could be either."""
    selects = list(written.find_all(exp.Select, bfs=False))
    by_place = {
        id(one): n for n, one in enumerate(scopes[-1].expression.find_all(exp.Select, bfs=False))
    }
    for scope in scopes:
        place = by_place.get(id(scope.expression), len(selects))
        items = selects[place].selects if place < len(selects) else []
        doubled = _several(item.alias for item in items if isinstance(item, exp.Alias))
        if not doubled:
            continue
        resolver = Resolver(scope, schema)
        for item in items:
            for part in item.walk(prune=lambda node: isinstance(node, exp.Query)):
                bare = isinstance(part, exp.Column) and not part.table
                if (
                    bare
                    and part.name.lower() in doubled
                    and not any(
                        part.name.lower() in resolver.get_source_columns(source)
                        for source in scope.selected_sources
                    )
                ):
                    raise _ambiguous(
                        f"two items of a select list are called {part.name}, and a third one uses"
                        " that name",
                        item.sql("spark"),
                    )


def _several(names: Iterable[str]) -> set[str]:
    """Return the names, in lower case, that occur more than once."""
    times = Counter(name.lower() for name in names)
    return {name for name, number in times.items() if number > 1}


def _ambiguous(reason: str, where: str) -> Refusal:
    return Refusal(reason, where, "give one of them another name with AS", code="doubled-column")


def _stars(block: exp.Expr) -> Iterator[exp.Expr]:
    """The stars of a block whose columns matter: what EXISTS selects does not."""
    if not isinstance(block, exp.Select):
        return
    yield from stars_in(block)
    if not isinstance(block.parent, exp.Exists):
        yield from (item for item in block.selects if item.is_star)


def _refuse_star(star: exp.Expr, scope: Scope, doubled: _Doubled) -> None:
    table = star.table if isinstance(star, exp.Column) else ""
    for name in [table] if table else scope.selected_sources:
        for items in doubled.of(scope.sources.get(name)).values():
            raise Refusal(
                f"a star stands for {_times(items)} columns called {items[0].alias_or_name}: {name}"
                " has them",
                f"{star.sql('spark')}: {_listed(items)}",
                "give one of them another name with AS, or list the columns instead of the star",
                code="doubled-column",
            )


def _is_one_column(items: list[exp.Expr], source: object) -> bool:
    """Return whether the items are one column of a relation, without AS, which makes a new one.

    Not of a UNION: what is one column of its first arm may be two of its second.
    """
    if isinstance(source, Scope) and source.set_operation_scopes:
        return False
    plain = all(isinstance(item.unalias().unnest(), exp.Column) for item in items)
    aliased = any(isinstance(item, exp.Alias) and is_written(item.args["alias"]) for item in items)
    return plain and not aliased and len({item.unalias().unnest() for item in items}) == 1


def _times(items: list[exp.Expr]) -> str:
    return "two" if len(items) == 2 else f"{len(items)}"


def _listed(items: list[exp.Expr]) -> str:
    return ", ".join(item.sql("spark") for item in items)
