"""Put SELECTs together from trees, without the parsing and copying of general builders."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlglot import exp

from tapestry.sql import timing
from tapestry.sql.facts.common_types import as_type, type_of
from tapestry.sql.facts.identifiers import identifier, needs_quotes


def select(listed: Iterable[exp.Expr]) -> exp.Select:
    """``SELECT listed``; the nodes become part of it."""
    return exp.Select(expressions=list(listed))


def select_one() -> exp.Select:
    """``SELECT 1``, as under EXISTS."""
    return select([exp.Literal.number(1)])


def select_all(alias: str = "") -> exp.Select:
    """``SELECT *`` or ``SELECT alias.*``."""
    if not alias:
        return select([exp.Star()])
    return select([exp.Column(this=exp.Star(), table=exp.to_identifier(alias))])


def quote(tree: exp.Expr) -> None:
    """Quote names that need it, in place: a star may have brought them."""
    for name in tree.find_all(exp.Identifier):
        if needs_quotes(name.name):
            name.set("quoted", True)


def column(name: str, table: str | None = None) -> exp.Column:
    """``name`` or ``table.name``."""
    return exp.column(identifier(name), table=table)


def null_like(value: exp.Expr) -> exp.Expr:
    """NULL of the type of a value, where that is certain; a UNION gives others their type."""
    null = as_type(exp.Null(), type_of(value))
    null.type = value.type
    return null


def named(value: exp.Expr, name: str) -> exp.Expr:
    """``value AS name``; the value becomes part of it."""
    return exp.alias_(value, identifier(name), copy=False)


def table(name: str, alias: str) -> exp.Table:
    """``name AS alias``."""
    return exp.Table(
        this=exp.to_identifier(name), alias=exp.TableAlias(this=exp.to_identifier(alias))
    )


def not_null(value: exp.Expr) -> exp.Expr:
    """``value IS NOT NULL``, of a copy."""
    return exp.Not(this=exp.Is(this=timing.wrapped(value), expression=exp.Null()))


def same(left: Iterable[exp.Expr], right: Iterable[exp.Expr]) -> list[exp.Expr]:
    """``one <=> other`` of each pair, of copies: NULLs are equal, too."""
    return [
        exp.NullSafeEQ(this=one.copy(), expression=two.copy())
        for one, two in zip(left, right, strict=True)
    ]


def subquery(query: exp.Query, alias: str) -> exp.Subquery:
    """``(query) AS alias``; the query becomes part of it."""
    return exp.Subquery(this=query, alias=exp.TableAlias(this=exp.to_identifier(alias)))


def add_from(
    query: exp.Select, relation: exp.Expr, on: Sequence[exp.Expr] | None = None
) -> exp.Select:
    """The query with one more relation in FROM: cross joined, or left joined on conditions."""
    if query.args.get("from_") is None:
        query.set("from_", exp.From(this=relation))
    elif on is None:
        query.append("joins", exp.Join(this=relation, kind="CROSS"))
    else:
        together = conjunction([operand(condition) for condition in on])
        query.append("joins", exp.Join(this=relation, side="LEFT", on=together or exp.true()))
    return query


def add_where(query: exp.Select, parts: Sequence[exp.Expr]) -> exp.Select:
    """The query with the conjunction of the parts as its WHERE; none leaves it without."""
    together = conjunction(parts)
    if together is not None:
        query.set("where", exp.Where(this=together))
    return query


def conjunction(parts: Sequence[exp.Expr]) -> exp.Expr | None:
    """``part AND part AND …``; None of no parts."""
    together = None
    for part in parts:
        together = part if together is None else exp.And(this=together, expression=part)
    return together


def operand(condition: exp.Expr) -> exp.Expr:
    """Return a copy that can stand between ANDs, in parentheses if needed."""
    return exp.Paren(this=condition.copy()) if isinstance(condition, exp.Or) else condition.copy()


def union_all(queries: Sequence[exp.Query]) -> exp.Query:
    """The queries with UNION ALL between them."""
    return _union(queries, distinct=False)


def union(queries: Sequence[exp.Query]) -> exp.Query:
    """The queries with UNION between them."""
    return _union(queries, distinct=True)


def _union(queries: Sequence[exp.Query], distinct: bool) -> exp.Query:
    together = queries[0]
    for query in queries[1:]:
        together = exp.Union(this=together, expression=query, distinct=distinct)
    return together


def with_names(query: exp.Query, names: Sequence[str]) -> exp.Query:
    """The query with these names for its columns."""
    columns = [identifier(name) for name in names]
    alias = exp.TableAlias(this=exp.to_identifier("_q"), columns=columns)
    listed = [column(name, "_q") for name in names]
    return add_from(select(listed), exp.Subquery(this=query, alias=alias))
