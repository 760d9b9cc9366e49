"""Write out stars in the arguments of functions: ``hash(*)`` is ``hash(m.id, m.k, …)``.

Sound because Spark does the same: the star stands for the columns of the block's FROM clause, in
order. It must be done before a column is added to a table (its arrival, say) or left out of it.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp
from sqlglot.optimizer.resolver import Resolver
from sqlglot.optimizer.scope import Scope, traverse_scope
from sqlglot.schema import Schema

from tapestry.errors import Refusal
from tapestry.sql.copies import copied
from tapestry.sql.read.spelling import Spelling, spell_field

_LISTS = (exp.Coalesce, exp.Greatest, exp.Least)
"""Functions whose first argument stands apart in the tree, though it is one like the others."""


def refuse_merged_stars(tree: exp.Query) -> None:
    """Raise Refusal for a star in a function's arguments over USING or joins in parentheses.

    With USING a column comes once, first and merged, which is seen before it is resolved only.
    """
    for select in tree.find_all(exp.Select):
        joins = select.args.get("joins") or []
        if any(join.args.get("using") or _is_nested(join.this) for join in joins) or (
            select.args.get("from_") is not None and _is_nested(select.args["from_"].this)
        ):
            for star in stars_in(select):
                raise Refusal(
                    "a star in a function's arguments over USING or joins in parentheses",
                    _around(star).sql("spark"),
                    "list the columns",
                    code="odd-star",
                )


def _is_nested(relation: exp.Expr) -> bool:
    in_parentheses = isinstance(relation, exp.Subquery) and isinstance(relation.this, exp.Table)
    return in_parentheses or bool(relation.args.get("joins"))


def expand_stars(tree: exp.Query, schema: Schema, spelling: Spelling) -> exp.Query:
    """The qualified query without stars in arguments, that of COUNT(*) excepted.

    Raises Refusal for a star that is no argument by itself in a select list or WHERE.
    """
    tree = copied(tree)
    for scope in traverse_scope(tree):
        if isinstance(scope.expression, exp.Select):
            for star in list(stars_in(scope.expression)):
                _expand(star, scope, Resolver(scope, schema), spelling)
    return tree


def stars_in(select: exp.Select) -> Iterator[exp.Expr]:
    """Yield ``*`` and ``m.*`` of this block alone that are not items of its select list."""
    for clause in select.args.values():
        for part in clause if isinstance(clause, list) else [clause]:
            if not isinstance(part, exp.Expr) or isinstance(part, exp.Query):
                continue
            for node in part.walk(prune=lambda n: isinstance(n, exp.Query)):
                if isinstance(node, exp.Star) and not _is_item(node):
                    yield node.parent if isinstance(node.parent, exp.Column) else node


def _is_item(star: exp.Star) -> bool:
    """Return whether a star is an item of a select list, or the star of COUNT(*)."""
    node = star.parent if isinstance(star.parent, exp.Column | exp.Dot) else star
    parent = node.parent
    if isinstance(parent, exp.Alias):
        parent = parent.parent
    return isinstance(parent, exp.Select) or isinstance(node.parent, exp.Count)


def _expand(star: exp.Expr, scope: Scope, resolver: Resolver, spelling: Spelling) -> None:
    function = star.parent
    place = star.find_ancestor(exp.Select, exp.Where, exp.Join, exp.Group, exp.Having, exp.Order)
    argument = isinstance(function, exp.Func) and not isinstance(function, exp.AggFunc)
    listed = star.arg_key == "expressions" or isinstance(function, _LISTS)
    if not (argument and listed and isinstance(place, exp.Select | exp.Where)):
        raise Refusal(
            "a star stands where no list of columns can stand",
            _around(star).sql("spark"),
            "list the columns",
            code="odd-star",
        )
    assert function is not None
    columns = _columns(star, scope, resolver)
    if isinstance(function, exp.Struct):
        columns = [_field(column, scope, spelling) for column in columns]
    if star.arg_key == "this":
        columns += [argument.copy() for argument in function.expressions]
        function.set("this", columns[0])
        function.set("expressions", columns[1:])
        return
    arguments = list(function.expressions)
    at = next(i for i, one in enumerate(arguments) if one is star)
    function.set("expressions", [*arguments[:at], *columns, *arguments[at + 1 :]])


def _columns(star: exp.Expr, scope: Scope, resolver: Resolver) -> list[exp.Expr]:
    """The columns that a star stands for, in the order of FROM."""
    table = star.table if isinstance(star, exp.Column) else ""
    names = [name for name in scope.selected_sources if table in ("", name)]
    inner = star.this if isinstance(star, exp.Column) else star
    left_out = {one.name.lower() for one in inner.args.get("except_") or []}
    columns: list[exp.Expr] = [
        exp.column(name, table=source)
        for source in names
        for name in resolver.get_source_columns(source)
        if name.lower() not in left_out
    ]
    if not columns or (isinstance(star, exp.Column) and star.args.get("db")):
        raise Refusal(
            "a star that stands for no table's columns",
            _around(star).sql("spark"),
            "list the columns, or the fields of a struct",
            code="odd-star",
        )
    return columns


def _field(column: exp.Expr, scope: Scope, spelling: Spelling) -> exp.PropertyEQ:
    written = spelling.spelt(scope.sources[column.text("table")], column.name)
    if written is None:
        raise Refusal(
            "a star in struct() over columns that have no names of their own",
            column.sql("spark"),
            "list the columns",
            code="odd-star",
        )
    name = exp.to_identifier(column.name)
    spell_field(name, written)
    return exp.PropertyEQ(this=name, expression=column)


def _around(star: exp.Expr) -> exp.Expr:
    """Return the function around a star, which a refusal shows."""
    return star.parent if star.parent is not None else star
