"""Rewrites the parts of Spark SQL that sqlglot does not carry over to PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from sqlglot import exp

Structs = Mapping[str, tuple[str, ...]]
"""Name of a struct -> its fields: the tables of a block, carried from CTE to CTE."""


def for_postgres(tree: exp.Expr, structs: Structs) -> exp.Expr:
    """The tree as PostgreSQL reads it.

    It has no structs with named fields but those of a declared type, so that they become columns.
    """
    flat = _without_structs(tree.copy(), structs)
    for node in reversed(list(flat.walk())):  # the innermost first
        rewritten = _rewritten(node)
        if rewritten is node:
            continue
        if node is flat:
            return rewritten
        node.replace(rewritten)
    return flat


def structs_in(trees: Iterable[exp.Expr]) -> dict[str, tuple[str, ...]]:
    """The structs that the select lists of a statement make, by the names they give them."""
    found: dict[str, tuple[str, ...]] = {}
    for tree in trees:
        for struct in tree.find_all(exp.Struct):
            parent = struct.parent
            if isinstance(parent, exp.Alias):
                found[parent.alias] = tuple(part.this.name for part in struct.expressions)
    return found


def _without_structs(tree: exp.Expr, structs: Structs) -> exp.Expr:
    """Return the tree with ``m.id`` of a struct m as the column ``m__id``."""
    for select in list(tree.find_all(exp.Select)):
        listed: list[exp.Expr] = []
        for item in select.expressions:
            listed += _columns_of(item, structs)
        select.set("expressions", listed)
    for column in list(tree.find_all(exp.Column)):
        if column.db in ("_k", "_b", "_f", "_e", "_w", "_r"):
            column.replace(exp.column(_flat(column.table, column.name), table=column.db))
    return tree


def _columns_of(item: exp.Expr, structs: Structs) -> list[exp.Expr]:
    """The select items that take the place of one that is a struct."""
    if isinstance(item, exp.Alias) and isinstance(item.this, exp.Struct):
        return [
            exp.alias_(part.expression.copy(), _flat(item.alias, part.this.name))
            for part in item.this.expressions
        ]
    if isinstance(item, exp.Column) and item.name in structs and item.table.startswith("_"):
        return [
            exp.column(_flat(item.name, field), table=item.table) for field in structs[item.name]
        ]
    return [item]


def _flat(struct: str, field: str) -> exp.Identifier:
    return exp.to_identifier(f"{struct}__{field}")


def _rewritten(node: exp.Expr) -> exp.Expr:
    """Rewrite Spark's functions of time that sqlglot leaves as they are, without rounding."""
    for kind, rewrite in _FUNCTIONS.items():
        if isinstance(node, kind):
            return rewrite(node)
    return node


def _epoch(node: exp.Expr) -> exp.Expr:
    """Seconds since 1970, exact: a numeric with six digits behind the point."""
    return exp.Extract(this=exp.var("EPOCH"), expression=node.copy())


def _whole(node: exp.Expr, factor: int = 1) -> exp.Expr:
    """Return whole units since 1970, ``factor`` of them in a second."""
    epoch = _epoch(node)
    if factor > 1:
        epoch = exp.Mul(this=epoch, expression=exp.Literal.number(factor))
    return exp.cast(exp.Floor(this=epoch), "bigint")


def _seconds_of(node: exp.Expr) -> exp.Expr:
    return node if node.this.is_type("text", "varchar") else _whole(node.this)


def _timestamp(node: exp.Expr) -> exp.Expr:
    """A timestamp from a number since 1970: ``to_timestamp(x / 10^6)`` would round."""
    scale = node.args.get("scale")
    power = int(scale.name) if scale is not None else 0
    unit = {0: "SECOND", 3: "MILLISECOND", 6: "MICROSECOND"}[power]
    one = exp.Interval(this=exp.Literal.string(f"1 {unit}"))
    origin = exp.cast(exp.Literal.string("1970-01-01 00:00:00+00"), "timestamptz")
    later = exp.Mul(this=exp.Paren(this=node.this.copy()), expression=one)
    return exp.Paren(this=exp.Add(this=origin, expression=later))


def _difference(node: exp.Expr) -> exp.Expr:
    """Whole units between two instants, towards zero; units of varying length stay."""
    unit = node.args["unit"].name.upper()
    if unit not in _SECONDS:
        return node
    apart = exp.Sub(this=_epoch(node.this), expression=_epoch(node.expression))
    parts = [apart, exp.Literal.number(_SECONDS[unit])]
    return exp.cast(exp.Anonymous(this="DIV", expressions=parts), "bigint")


def _months_later(node: exp.Expr) -> exp.Expr:
    month = exp.Interval(this=exp.Literal.string("1 MONTH"))
    months = exp.Mul(this=exp.Paren(this=node.expression.copy()), expression=month)
    return exp.cast(exp.Add(this=node.this.copy(), expression=months), "date")


def _truncated(node: exp.Expr) -> exp.Expr:
    unit = node.args["unit"].name.upper()
    if unit in _UNITS:
        name = _UNITS[unit]
        of_date = isinstance(node, exp.DateTrunc)
        node.set("unit", exp.Literal.string(name) if of_date else exp.var(name))
    return node


_SECONDS = {"SECOND": 1, "MINUTE": 60, "HOUR": 3_600, "DAY": 86_400, "WEEK": 604_800}
_UNITS = {"MM": "MONTH", "MON": "MONTH", "YYYY": "YEAR", "YY": "YEAR", "DD": "DAY"}
_FUNCTIONS: Mapping[type[exp.Expr], Callable[[exp.Expr], exp.Expr]] = {
    exp.StrToUnix: _seconds_of,
    exp.UnixSeconds: lambda node: _whole(node.this),
    exp.UnixMillis: lambda node: _whole(node.this, 1_000),
    exp.UnixMicros: lambda node: _whole(node.this, 1_000_000),
    exp.UnixToTime: _timestamp,
    exp.TimestampDiff: _difference,
    exp.AddMonths: _months_later,
    exp.TimestampTrunc: _truncated,
    exp.DateTrunc: _truncated,
}
