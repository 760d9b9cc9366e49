"""What PostgreSQL needs besides what sqlglot's generator does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sqlglot import exp

Structs = Mapping[str, tuple[str, ...]]
"""Name of a struct -> its fields: the tables of a block, carried from CTE to CTE."""


def for_postgres(tree: exp.Expr, structs: Structs) -> exp.Expr:
    """The tree as PostgreSQL reads it.

    It has no structs with named fields but those of a declared type, so that they become columns.
    """
    flat = _without_structs(tree.copy(), structs)
    return flat.transform(_seconds).transform(_timestamps)


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
    """``m.id`` of a struct m as the column ``m__id``."""
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


def _seconds(node: exp.Expr) -> exp.Expr:
    """Whole seconds since 1970: of a double, which until 2242 is not rounded up to the next one."""
    if isinstance(node, exp.StrToUnix) and not node.this.is_type("text", "varchar"):
        parts = [exp.Literal.string("epoch"), node.this.copy()]
        seconds = exp.Floor(this=exp.Anonymous(this="DATE_PART", expressions=parts))
        return exp.cast(seconds, "bigint")
    return node


def _timestamps(node: exp.Expr) -> exp.Expr:
    """A timestamp from a number since 1970, without the rounding of a division."""
    if not isinstance(node, exp.UnixToTime):
        return node
    scale = node.args.get("scale")
    power = int(scale.name) if scale is not None else 0
    unit = {0: "SECOND", 3: "MILLISECOND", 6: "MICROSECOND"}[power]
    one = exp.Interval(this=exp.Literal.string(f"1 {unit}"))
    origin = exp.cast(exp.Literal.string("1970-01-01 00:00:00+00"), "timestamptz")
    later = exp.Mul(this=exp.Paren(this=node.this.copy()), expression=one)
    return exp.Paren(this=exp.Add(this=origin, expression=later))
