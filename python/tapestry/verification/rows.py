"""A FROM clause in the making, and small pieces of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from tapestry.sql import keys


@dataclass
class Rows:
    """Its relations, what else must hold, the instant of its rows, the parts of their key."""

    select: exp.Select
    instant: exp.Expr
    conditions: list[exp.Expr] = field(default_factory=list)
    keys: list[exp.Expr] = field(default_factory=list)


def is_nested(node: exp.Expr) -> bool:
    """Joins in parentheses?"""
    inside = node.this if isinstance(node, exp.Join) else node
    if isinstance(inside, exp.Subquery) and isinstance(inside.this, exp.Table):
        return True
    return bool(inside.args.get("joins")) and not isinstance(inside, exp.Select)


def joined(relation: exp.Expr, side: str, conditions: list[exp.Expr]) -> exp.Join:
    """``side JOIN relation ON`` all of the conditions."""
    on: exp.Expr = exp.true()
    if conditions:
        on = conditions[0]
        for condition in conditions[1:]:
            on = exp.And(this=on, expression=condition)
    return exp.Join(this=relation, side=side or None, on=on)


def aliased(query: exp.Query, alias: str) -> exp.Subquery:
    """``(query) AS alias``."""
    return exp.Subquery(this=query, alias=exp.TableAlias(this=exp.to_identifier(alias)))


def operand(condition: exp.Expr) -> exp.Expr:
    """The condition as a part of a conjunction."""
    return exp.Paren(this=condition) if isinstance(condition, exp.Connector) else condition


def or_nothing(part: exp.Expr) -> exp.Expr:
    """A key's part, where its relation may have no row."""
    return exp.Coalesce(this=part, expressions=[keys.nothing()])
