"""Make aggregates one value where Spark may take any of several (semantics, section 2).

    max_by(y, x)    (max(CASE WHEN x IS NOT NULL THEN struct(x AS o, y AS v) END)).v
    min_by(y, x)    (min(CASE WHEN x IS NOT NULL THEN struct(x AS o, y AS v) END)).v
    any_value(y)    max(y)

Where several rows have the greatest x, the greatest y of them is taken, as an order of rows that
leaves two equal is made total by their columns. Sound because each is a value that the function may
give: rows without an x are left out, by Spark too.
"""

from __future__ import annotations

from sqlglot import exp

from tapestry.sql.write import build

ANY = (exp.ArgMax, exp.ArgMin, exp.AnyValue)
UNORDERED = ("map", "variant", "object", "interval")
"""Types of which Spark knows no greatest value (of intervals not in a struct)."""
_AROUND = exp.Filter | exp.IgnoreNulls | exp.RespectNulls | exp.Window


def can_be_one(node: exp.Expr) -> bool:
    """Return whether a node is such an aggregate, over values that have an order.

    >>> calls = ("max_by(y, x)", "any_value(y)", "max_by(y, x, 3)", "first(y)")
    >>> [can_be_one(exp.maybe_parse(call, dialect="spark")) for call in calls]
    [True, True, False, False]
    """
    if not isinstance(node, ANY) or node.args.get("count") is not None:
        return False
    parts = [node.this, *([node.expression] if isinstance(node, exp.ArgMax | exp.ArgMin) else [])]
    return not any(isinstance(one, exp.Order | exp.HavingMax) or _unordered(one) for one in parts)


def one_value(tree: exp.Query) -> None:
    """Replace these aggregates by their exact forms, in place. Names are resolved."""
    for node in [one for one in tree.find_all(*ANY) if can_be_one(one)]:
        around: exp.Expr = node
        while isinstance(around.parent, _AROUND) and around.arg_key == "this":
            around = around.parent
        if isinstance(node, exp.AnyValue):
            most: exp.Expr = exp.Max(this=node.this.copy())
            most.type = node.this.type
        else:
            kind = exp.Max if isinstance(node, exp.ArgMax) else exp.Min
            most = kind(this=_pair(node.expression, node.this))
            most.type = _type_of_pair(node.expression, node.this)
        bare = node.parent if isinstance(node.parent, exp.IgnoreNulls) else node
        whole = most if bare is around else around
        if bare is not around:
            bare.replace(most)
        if isinstance(node, exp.AnyValue):
            if bare is around:
                around.replace(most)
            continue
        value = exp.Dot(
            this=exp.Paren(this=whole.copy()), expression=exp.to_identifier("v", quoted=True)
        )
        value.type = node.this.type
        around.replace(value)


def _pair(order: exp.Expr, value: exp.Expr) -> exp.Expr:
    """``CASE WHEN order IS NOT NULL THEN struct(order AS o, value AS v) END``."""
    fields: list[exp.Expr] = [
        exp.PropertyEQ(this=exp.to_identifier(name), expression=one.copy())
        for name, one in (("o", order), ("v", value))
    ]
    some = exp.Not(this=exp.Is(this=build.operand(order.copy()), expression=exp.null()))
    return exp.Case(ifs=[exp.If(this=some, true=exp.Struct(expressions=fields))])


def _type_of_pair(order: exp.Expr, value: exp.Expr) -> exp.DataType | None:
    """Return the type of the pair, so that a NULL of it has a field v."""
    kind, other = value.type, order.type
    if not isinstance(kind, exp.DataType) or kind.is_type("unknown", "null"):
        return None
    if not isinstance(other, exp.DataType) or other.is_type("unknown", "null"):
        other = exp.DataType.build("int")
    fields = [
        exp.ColumnDef(this=exp.to_identifier(name), kind=one.copy())
        for name, one in (("o", other), ("v", kind))
    ]
    return exp.DataType(this=exp.DType.STRUCT, expressions=fields, nested=True)


def _unordered(node: exp.Expr) -> bool:
    kind = node.type
    return isinstance(kind, exp.DataType) and any(
        str(one.this.value).lower().startswith(UNORDERED) for one in kind.find_all(exp.DataType)
    )
