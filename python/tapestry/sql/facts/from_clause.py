"""The relations of a FROM clause, and the SELECTs from which the rows of a query come."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlglot import exp

Ctes = Mapping[str, tuple[exp.Expr, "Ctes"]]
"""Name -> body of a CTE, with the CTEs that its own text may use."""


def encloses_relation(node: exp.Expr) -> bool:
    """Return whether these parentheses enclose a relation or a join, not a SELECT.

    A SELECT may stand in several of them, as long as it has no name in there and joins nothing.
    """
    if not isinstance(node, exp.Subquery):
        return False
    inner = node.this
    behind = [inner.args.get(clause) for clause in ("alias", "joins", "pivots")]
    return isinstance(inner, exp.Table) or (isinstance(inner, exp.Subquery) and any(behind))


def relations_of(select: exp.Expr) -> Iterator[exp.Expr]:
    """The relations of a FROM clause in the order written, those in parentheses included."""

    def inside(node: exp.Expr) -> Iterator[exp.Expr]:
        if encloses_relation(node):
            yield from inside(node.this)
        else:
            yield node
        for join in node.args.get("joins") or []:
            yield from inside(join.this)

    from_ = select.args.get("from_")
    if from_ is not None:
        yield from inside(from_.this)
        for join in select.args.get("joins") or []:
            yield from inside(join.this)


def derived_tables(select: exp.Expr) -> Iterator[exp.Subquery]:
    """The derived tables of a FROM clause, those in parentheses included."""
    clauses = [select.args.get("from_"), *(select.args.get("joins") or [])]
    left = [clause.this for clause in clauses if clause is not None]
    while left:
        relation = left.pop(0)
        left += [join.this for join in relation.args.get("joins") or []]
        if encloses_relation(relation):
            left.append(relation.this)
        elif isinstance(relation, exp.Subquery):
            yield relation


def opened(query: exp.Expr) -> exp.Query:
    """Return a query without the parentheses around it."""
    while isinstance(query, exp.Subquery):
        query = query.this
    assert isinstance(query, exp.Query)
    return query


def leaf_selects(query: exp.Expr) -> Iterator[exp.Select]:
    """Yield the SELECTs that make the rows of a query, or are compared by its set operations."""
    while isinstance(query, exp.Subquery):
        query = query.this
    if isinstance(query, exp.SetOperation):
        yield from leaf_selects(query.this)
        yield from leaf_selects(query.expression)
    elif isinstance(query, exp.Select):
        yield query


def opened_in(node: exp.Expr, ctes: Ctes) -> tuple[exp.Expr, Ctes]:
    """Return a query without its parentheses, and the CTEs visible in it."""
    while True:
        with_ = node.args.get("with_")
        for cte in with_.expressions if with_ is not None else []:
            name = cte.alias.lower()
            if name not in ctes or ctes[name][0] is not cte.this:  # else opened before
                ctes = {**ctes, name: (cte.this, ctes)}
        if not isinstance(node, exp.Subquery):
            return node, ctes
        node = node.this


def leaves_in(node: exp.Expr, ctes: Ctes) -> Iterator[tuple[exp.Select, Ctes]]:
    """Yield the same SELECTs as ``leaf_selects``, each with the CTEs visible in it."""
    node, ctes = opened_in(node, ctes)
    if isinstance(node, exp.SetOperation):
        yield from leaves_in(node.this, ctes)
        yield from leaves_in(node.expression, ctes)
    elif isinstance(node, exp.Select):
        yield node, ctes
