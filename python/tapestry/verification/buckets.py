"""Samples whole groups of an aggregate: rows of a query by a hash of their grouping key.

A sample of an aggregate must not leave out some of the rows that are aggregated: it would make
other values. It takes answers instead, ``SELECT * FROM (the query) WHERE hash(K) = i``, and the new
rows of the same i. That is sound for any columns K of the select list. What it costs depends on K:
where the query is computed for each value of K from the rows of that value alone, an engine applies
the condition to the rows that it reads, so that a bucket costs a sixteenth of the whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from tapestry.sql.facts import keys
from tapestry.sql.facts.from_clause import Ctes, opened_in, relations_of
from tapestry.sql.facts.grouping import is_limited
from tapestry.sql.facts.identifiers import identifier
from tapestry.sql.read.groups_of_nothing import GROUPING_SETS
from tapestry.sql.read.open_clauses import parts
from tapestry.sql.write import build
from tapestry.verification.scopes import arms, gathers_at_depth, has_aggregates, relation_of

DIGITS = "0123456789abcdef"
"""The buckets: the first digits of a hash."""


def shown_key(node: exp.Expr, ctes: Ctes) -> tuple[int, ...]:
    """Return the places in the select list of a key that partitions a query; () for none."""
    node, ctes = opened_in(node, ctes)
    if not isinstance(node, exp.Select) or is_limited(node):
        return ()
    held = list(_key(node, ctes))
    return tuple(n for n, item in enumerate(node.selects) if item.unalias() in held)


def bucket_of(arm: exp.Query, key: Sequence[int], digit: str, alias: str) -> exp.Select:
    """The rows of an arm that belong to a bucket, with the names that it has."""
    names = arm.named_selects
    own = [f"_c{number}" for number in range(1, len(names) + 1)]
    listed: list[exp.Expr] = [
        exp.alias_(exp.column(mine, table=alias), identifier(name))
        for mine, name in zip(own, names, strict=True)
    ]
    columns = [exp.to_identifier(name) for name in own]
    whole = exp.Subquery(
        this=arm.copy(), alias=exp.TableAlias(this=exp.to_identifier(alias), columns=columns)
    )
    query = build.add_from(build.select(listed), whole)
    return build.add_where(query, [in_bucket([own[n] for n in key], digit, alias)])


def in_bucket(names: Sequence[str], digit: str, alias: str) -> exp.Expr:
    """The condition that a row with these columns of the key belongs to a bucket."""
    values: list[exp.Expr] = [
        exp.column(exp.to_identifier(name, quoted=True), table=alias) for name in names
    ]
    one = exp.Literal.number(1)
    first = exp.Substring(this=keys.of_values(values), start=one, length=one.copy())
    return exp.EQ(this=first, expression=exp.Literal.string(digit))


def _key(node: exp.Select, ctes: Ctes) -> Iterator[exp.Expr]:
    """Yield expressions by which every construct that combines rows tells them apart."""
    group = node.args.get("group")
    windows = [p for item in node.selects for p in parts(item) if isinstance(p, exp.Window)]
    if group is not None:
        if group.find(*GROUPING_SETS) is None:
            yield from (one for one in group.expressions if _in_all(one, windows))
        return
    if has_aggregates(node):
        return
    if windows:
        yield from (
            one for one in windows[0].args.get("partition_by") or [] if _in_all(one, windows)
        )
        return
    for relation in relations_of(node):
        yield from _of_derived(relation, ctes)


def _in_all(value: exp.Expr, windows: Sequence[exp.Window]) -> bool:
    return all(value in (window.args.get("partition_by") or []) for window in windows)


def _of_derived(relation: exp.Expr, ctes: Ctes) -> Iterator[exp.Expr]:
    """The columns of a derived table, or a CTE, that hold its own key."""
    body, seen = relation, ctes
    if isinstance(relation, exp.Table):
        if relation_of(relation, ctes):
            return
        body, seen = ctes[relation.name.lower()]
    sides = list(arms(body, seen))
    if len(sides) != 1 or not gathers_at_depth(body, seen):
        return
    query = sides[0][0]
    alias = relation.args.get("alias")
    renamed = [] if alias is None else [one.name for one in alias.columns]
    names = renamed or (query.named_selects if isinstance(query, exp.Query) else [])
    for place in shown_key(*sides[0]):
        yield exp.column(exp.to_identifier(names[place]), table=relation.alias_or_name)
