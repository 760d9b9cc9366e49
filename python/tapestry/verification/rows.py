"""A FROM clause under construction, the context of a condition, and small builders of SQL."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from tapestry.sql.facts import keys
from tapestry.sql.facts.from_clause import encloses_relation
from tapestry.sql.planner.hints import few_keys
from tapestry.sql.write import build


@dataclass(frozen=True)
class Around:
    """The context of a condition: the instant of its row, and perhaps a narrowed table.

    alias
        A table of the FROM clause of which only ``keys`` (rows under that alias) are looked at.
    few
        They can be sent to every task of a join.
    """

    instant: exp.Expr
    alias: str = ""
    keys: exp.Select | None = None
    few: bool = False


@dataclass
class Rows:
    """A FROM clause: relations, further conditions, the instant and key parts of its rows."""

    select: exp.Select
    instant: exp.Expr
    conditions: list[exp.Expr] = field(default_factory=list)
    keys: list[exp.Expr] = field(default_factory=list)


def is_nested(node: exp.Expr) -> bool:
    """Return whether a node is a join in parentheses."""
    inside = node.this if isinstance(node, exp.Join) else node
    joins = bool(inside.args.get("joins")) and not isinstance(inside, exp.Select)
    return joins or encloses_relation(inside)


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
    """Return a key's part, where its relation may have no row."""
    return exp.Coalesce(this=part, expressions=[keys.nothing()])


def only_keys_of(where: exp.Expr, inner: set[str], around: Around) -> list[exp.Expr]:
    """Return conditions on inner rows that a correlation with few outer rows implies.

    ``r.parent = m.id`` with few m implies ``r.parent IN (SELECT m.id FROM m WHERE ...)``: the
    engine can send these keys to the scan of r instead of shuffling all of r.
    """
    if around.keys is None or around.alias in inner:
        return []
    implied: list[exp.Expr] = []
    parts = where.flatten() if isinstance(where, exp.And) else [where]
    for part in parts:
        condition = part.unnest()
        if not isinstance(condition, exp.EQ):
            continue
        sides = (condition.this, condition.expression)
        for wanted, key in (sides, sides[::-1]):
            tables = {column.table for column in key.find_all(exp.Column)}
            outer = isinstance(wanted, exp.Column) and wanted.table == around.alias
            if outer and tables and tables <= inner and key.find(exp.Query) is None:
                chosen = around.keys.copy()
                chosen.set("expressions", [wanted.copy()])
                if around.few:
                    chosen = few_keys(chosen, [around.alias])
                implied.append(exp.In(this=key.copy(), query=exp.Subquery(this=chosen)))
    return implied


def select_from(relation: exp.Expr, conditions: list[exp.Expr]) -> exp.Select:
    """``SELECT 1 FROM relation WHERE conditions``."""
    return build.add_where(build.add_from(build.select_one(), relation), conditions)
