"""Put the text of every view in the place of its name (CTEs are inlined where they are used)."""

from __future__ import annotations

from sqlglot import exp

from tapestry.errors import Refusal
from tapestry.sql.catalog import Catalog, View
from tapestry.sql.copies import copied
from tapestry.sql.read.functions import user_defined
from tapestry.sql.read.inline_inner_ctes import inline_inner_ctes
from tapestry.sql.read.parse import is_cte, parse, table_name
from tapestry.sql.work import NODE, size, spend

_DEEPEST = 50
_NAME = ("this", "db", "catalog")


def inline_views(tree: exp.Query, catalog: Catalog) -> exp.Query:
    """Return the query over sources only. Sound because a view is by definition its text.

    A source whose columns get other names in FROM becomes a derived table with those names.

    Raises Refusal for a name that the catalog does not know and for views that contain themselves.
    """
    return _inlined(tree, catalog, 0)


def _inlined(tree: exp.Query, catalog: Catalog, depth: int) -> exp.Query:
    if depth > _DEEPEST:
        raise Refusal(
            "views refer to each other in a circle",
            tree.sql("spark"),
            "define one of them without the others",
            code="circular-views",
        )
    spend(NODE * size(tree), "the query with its views")
    tree = copied(tree)
    for table in list(tree.find_all(exp.Table)):
        name = table_name(table)
        if is_cte(table):
            continue
        relation = catalog.relations.get(name)
        if relation is None:
            raise Refusal(
                f"the relation {name} is not known",
                table.sql("spark"),
                "check its name and its schema, or build it first",
                code="unknown-relation",
            )
        alias = table.args.get("alias") or exp.TableAlias(this=exp.to_identifier(table.name))
        if isinstance(relation, View):
            body = _inlined(_view_tree(relation), catalog, depth + 1)
        elif alias.columns:  # m AS z(a, b) gives the columns of SELECT * FROM m other names
            bare = exp.Table(**{part: table.args.get(part) for part in _NAME})
            bare.set("alias", exp.TableAlias(this=alias.this.copy()))
            body = exp.select("*").from_(bare)
        else:
            continue
        # The joins are those of a join on the right of another one.
        behind = {clause: table.args.get(clause) for clause in ("joins", "pivots")}
        table.replace(exp.Subquery(this=body, alias=alias, **behind))
    return inline_inner_ctes(tree)


def _view_tree(view: View) -> exp.Query:
    tree = parse(view.sql)
    if view.namespace:
        for table in tree.find_all(exp.Table):
            if not table.db and not is_cte(table):
                for part, name in zip(
                    ("db", "catalog"), reversed(view.namespace.split(".")), strict=False
                ):
                    table.set(part, exp.to_identifier(name))
        _qualify_functions(tree, view.namespace)
    return tree


def _qualify_functions(tree: exp.Query, namespace: str) -> None:
    """Qualify user-defined functions without a schema with the view's schema, not the reader's.

    A view that is kept cannot call a temporary function, so there is no third place.
    """
    for node in list(tree.find_all(exp.Anonymous)):
        name = user_defined(node)
        if name and "." not in name:
            parts = [exp.to_identifier(name) for name in namespace.split(".")]
            node.replace(exp.Dot.build([*parts, node.copy()]))
