"""Restricts a query to rows with certain keys: restricts its covered uses, and its result.

Exact because the key commutes: the rows of a key depend on the rows of that key of a covered use
alone (aggregates, section 2). NULL is a key as any.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from tapestry.sql.facts.from_clause import opened
from tapestry.sql.operators.choose_key import Key, names_of
from tapestry.sql.operators.versions import TwoVersions, Version
from tapestry.sql.write import build

KEY = "_tap_key_"
"""The components of a key are called so, with their numbers from 1."""
_OUT, _AMONG = "_tap_rows", "_tap_keys"


def key_names(key: Key) -> list[str]:
    """Return the names of a key's components in a relation of keys."""
    return [f"{KEY}{number}" for number in range(1, len(key.parts) + 1)]


def named_key(parts: Sequence[exp.Expr]) -> list[exp.Expr]:
    """The components as items of a select list."""
    return [build.named(part.copy(), f"{KEY}{n}") for n, part in enumerate(parts, start=1)]


def keyed(query: exp.Expr, key: Key) -> exp.Query:
    """The query with the components of its key behind its columns."""
    tree = opened(query).copy()
    tree.set("order", None)
    if isinstance(tree, exp.Select):
        for item in named_key(key.parts):
            tree.append("expressions", item)
        return tree
    listed = [build.named(build.column(name, _OUT), name) for name in names_of(tree)]
    outer = build.select([*listed, *named_key([build.column(p.name, _OUT) for p in key.parts])])
    return build.add_from(outer, build.subquery(tree, _OUT))


def cut(
    query: exp.Expr, key: Key, among: str, versions: TwoVersions, version: Version
) -> exp.Query:
    """Return a query's rows, with keys, in a version and with keys in the relation ``among``."""
    tree = versions.query_at(keyed(query, key), version)
    for table in list(tree.find_all(exp.Table)):
        reached = key.cover.get(table.alias)
        if reached:
            table.replace(_narrowed(table, among, reached))
    names = [*names_of(opened(query)), *key_names(key)]
    outer = build.select([build.column(name, _OUT) for name in names])
    build.add_from(outer, build.subquery(tree, _OUT))
    pairs = [(name, build.column(name, _OUT)) for name in key_names(key)]
    return build.add_where(outer, [is_among(among, pairs)])


def is_among(among: str, pairs: Sequence[tuple[str, exp.Expr]]) -> exp.Exists:
    """Return EXISTS of a row in a relation whose columns equal these values, NULLs being equal."""
    inner = build.add_from(build.select_one(), build.table(among, _AMONG))
    same = [
        exp.NullSafeEQ(this=build.column(name, _AMONG), expression=value.copy())
        for name, value in pairs
    ]
    return exp.Exists(this=build.add_where(inner, same))


def _narrowed(table: exp.Table, among: str, reached: Sequence[tuple[int, exp.Expr]]) -> exp.Expr:
    alias = table.alias
    inside = build.table(table.name, alias)
    query = build.add_from(build.select_all(alias), inside)
    pairs = [(f"{KEY}{place + 1}", value) for place, value in reached]
    narrowed = build.subquery(build.add_where(query, [is_among(among, pairs)]), alias)
    joins = table.args.get("joins")
    if joins:
        narrowed.set("joins", joins)
    return narrowed
