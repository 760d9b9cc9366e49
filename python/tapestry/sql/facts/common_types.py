"""The type of a value where it is certain, and the common type of two sides of a set operation.

The parser's own types are guesses (it takes ``1.5`` for a DOUBLE, ``nvl(i, 0)`` for a BIGINT). A
cast by a guess could change values, so here a type is one that Spark is known to give, or none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import lru_cache, reduce

from sqlglot import exp

from tapestry.sql import timing

SHAPE = "shape"
"""Key under which a column of a value table keeps the shape of what stands in it."""

_WHOLE = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 20}
"""Whole numbers, the narrower first, and how many digits each has as a DECIMAL."""
_NAMES = {
    exp.DType.TIMESTAMPTZ: "timestamp",
    exp.DType.TIMESTAMPLTZ: "timestamp",
    exp.DType.TIMESTAMP: "timestamp",
    exp.DType.TIMESTAMPNTZ: "timestamp_ntz",
    exp.DType.VARCHAR: "string",
    exp.DType.CHAR: "string",
    exp.DType.NULL: "void",
    exp.DType.UNKNOWN: "",
}
_DECIMAL = re.compile(r"decimal\((\d{1,9}),(\d{1,9})\)")
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div)
_FIXED: dict[type[exp.Expr], str] = {
    **dict.fromkeys((exp.Predicate, exp.Connector, exp.Not, exp.Boolean), "boolean"),
    **dict.fromkeys((exp.Year, exp.Month, exp.Day, exp.Hour, exp.Minute, exp.Length), "int"),
    exp.Quarter: "int",
    **dict.fromkeys((exp.Upper, exp.Lower, exp.MD5, exp.SHA2, exp.RegexpReplace), "string"),
    **dict.fromkeys((exp.Substring, exp.TimeToStr, exp.UnixToStr, exp.ConcatWs), "string"),
    **dict.fromkeys((exp.TsOrDsToDate, exp.TsOrDsAdd, exp.LastDay, exp.AddMonths), "date"),
    exp.TimestampTrunc: "timestamp",
    **dict.fromkeys((exp.Sqrt, exp.Pow, exp.Ln, exp.Exp), "double"),
    exp.Null: "void",
}
"""Functions of one type, whatever their arguments."""


def type_of(value: exp.Expr) -> str:
    """Return the name of the type in Spark, "" if it is not certain, "void" for a bare NULL.

    >>> [type_of(exp.maybe_parse(text, dialect="spark")) for text in ("1.50", "2 / 3", "f(1)")]
    ['decimal(3,2)', 'double', '']
    """
    while isinstance(value, exp.Paren | exp.Neg | exp.Alias):
        value = value.this
    if isinstance(value, exp.Column):
        return "" if SHAPE in value.meta or value.type is None else _name(value.type)
    if isinstance(value, exp.Cast):
        return _name(value.args["to"])
    if timing.is_now(value):
        return _of_clock(value)
    if isinstance(value, exp.Literal):
        return "string" if value.is_string else _of_number(value.name)
    for kinds, of in _COMPOSED:
        if isinstance(value, kinds):
            return of(value)
    return next((name for kind, name in _FIXED.items() if isinstance(value, kind)), "")


def shape_of(value: exp.Expr) -> str:
    """Return the text with types in place of columns: values of one shape have one type.

    Spark types an expression by its functions, its literals and the types of its columns alone.
    """

    def of_column(node: exp.Column) -> str:
        return node.meta.get(SHAPE) or f"<{type_of(node) or node.sql('spark')}>"

    def opened(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Literal) and isinstance(node.parent, _ARITHMETIC) and node.is_int:
            return exp.var(f"<{len(node.name)} digits>")  # which decide; elsewhere the value may
        return exp.var(of_column(node)) if isinstance(node, exp.Column) else node

    if isinstance(value, exp.Column):
        return of_column(value)
    return value.copy().transform(opened, copy=False).sql("spark")


def common_type(one: str, other: str) -> str:
    """Return the type to which Spark widens both in a set operation; "" if that is not certain.

    Not certain are those that ``spark.sql.ansi.enabled`` decides: strings beside anything else,
    FLOAT beside whole numbers.

    >>> common_type("int", "decimal(10,2)"), common_type("timestamp", "date")
    ('decimal(12,2)', 'timestamp')
    """
    if one == other or other == "void":
        return one
    if one == "void":
        return other
    pair = {one, other}
    if pair <= set(_WHOLE):
        return max(pair, key=list(_WHOLE).index)
    if pair <= {*_WHOLE, "double"} or pair == {"float", "double"}:
        return "double"
    if pair <= {"timestamp", "timestamp_ntz", "date"}:
        return "timestamp" if "timestamp" in pair else "timestamp_ntz"
    digits = [_digits(name) for name in (one, other)]
    if None not in digits:
        return _wider(*(size for size in digits if size is not None))
    return "double" if "double" in pair and any(digits) else ""


def shared_type(values: Sequence[exp.Expr]) -> str | None:
    """Return the type that Spark gives to all of these values, "" if it gives one; None: unknown.

    >>> [shared_type([exp.maybe_parse(t, dialect="spark") for t in texts])
    ...  for texts in (("1", "2.5"), ("f(1)", "f(1)"), ("1", "'a'"))]
    ['decimal(11,1)', '', None]
    """
    known = [value for value in values if type_of(value) != "void"]
    names = {type_of(value) for value in known}
    if len(names) <= 1 and "" not in names:
        return ""
    if len({shape_of(value) for value in known}) == 1:
        return ""
    if "" in names:
        return None
    return reduce(lambda one, other: one and common_type(one, other), sorted(names)) or None


def as_type(value: exp.Expr, name: str) -> exp.Expr:
    """Return the value, cast to this type unless it is certain to have it."""
    if name in ("", "void") or type_of(value) == name:
        return value
    kind = exp.DataType.build("timestamptz" if name == "timestamp" else name, dialect="spark")
    cast = exp.Cast(this=value.copy(), to=kind)
    cast.type = kind.copy()
    return cast


def _name(kind: exp.DataType) -> str:
    known = _NAMES.get(kind.this)
    if known is not None:
        return known
    sizes = kind.expressions
    plain = {key for key, value in kind.args.items() if value} <= {"this", "expressions"}
    params = all(isinstance(size, exp.DataTypeParam) and size.name.isdecimal() for size in sizes)
    if plain and params and isinstance(kind.this, exp.DType):
        return _simple_name(kind.this, tuple(int(size.name) for size in sizes))
    return kind.sql("spark").lower().replace(", ", ",")


@lru_cache(maxsize=1000)
def _simple_name(kind: exp.DType, sizes: tuple[int, ...]) -> str:
    """Return the name of a type, cached: writing a type takes as long as a hundred comparisons."""
    params = [exp.DataTypeParam(this=exp.Literal.number(size)) for size in sizes]
    name = exp.DataType(this=kind, expressions=params).sql("spark")
    return name.lower().replace(", ", ",")


def _of_number(text: str) -> str:
    """Return a literal's type: the smallest whole number type, DECIMAL with a point, DOUBLE with
    E.
    """
    if "e" in text.lower():
        return "double"
    _, digits, exponent = Decimal(text).as_tuple()
    if "." not in text:
        size = int(text)
        return "int" if size < 2**31 else "bigint" if size < 2**63 else f"decimal({len(digits)},0)"
    scale = -int(exponent)
    return f"decimal({max(len(digits), scale)},{scale})"


def _digits(name: str) -> tuple[int, int] | None:
    """Return the precision and the scale of a type as a DECIMAL."""
    if name in _WHOLE:
        return _WHOLE[name], 0
    found = _DECIMAL.fullmatch(name)
    return (int(found[1]), int(found[2])) if found else None


def _wider(one: tuple[int, int], other: tuple[int, int]) -> str:
    scale = max(one[1], other[1])
    precision = max(one[0] - one[1], other[0] - other[1]) + scale
    return f"decimal({precision},{scale})" if precision <= 38 else ""


def _of_clock(value: exp.Expr) -> str:
    """Return the type of a reading of the clock, by any of its names."""
    if isinstance(value, exp.CurrentDate) or value.name.lower() == "curdate":
        return "date"
    local = isinstance(value, exp.Localtimestamp) or value.name.lower() == "localtimestamp"
    return "timestamp_ntz" if local else "timestamp"


def _of_sum(value: exp.Expr) -> str:
    """Return the type of a sum or quotient of numbers, or of a timestamp and an interval.

    DECIMALs have none here, as their digits grow.
    """
    left, right = type_of(value.this), type_of(value.expression)
    if left in ("timestamp", "timestamp_ntz") and isinstance(value.expression, exp.Interval):
        return left
    if not {left, right} <= {*_WHOLE, "double"}:
        return ""
    return "double" if isinstance(value, exp.Div) else common_type(left, right)


def _of_size(value: exp.Expr) -> str:
    """Return the type of abs(): that of its argument, if it is a number."""
    name = type_of(value.this)
    return name if name in (*_WHOLE, "float", "double") or name.startswith("decimal(") else ""


def _of_text(value: exp.Expr) -> str:
    """Return the type of ``||`` or concat(): STRING if any part is one, else none."""
    parts = value.expressions or [value.this, value.expression]
    return "string" if any(type_of(part) == "string" for part in parts) else ""


def _of_element(value: exp.Expr) -> str:
    """Return the type of an element of an array, or of a value of a map, in a column."""
    outer = value.this.type if isinstance(value.this, exp.Column) else None
    if outer is None or not outer.is_type("array", "map") or SHAPE in value.this.meta:
        return ""
    return _name(outer.expressions[-1])


def _of_first(value: exp.Expr) -> str:
    """Return the type of NULLIF: that of its first argument."""
    return type_of(value.this)


def _of_choice(value: exp.Expr) -> str:
    """Return the type of CASE, IF, NVL2 or COALESCE over values of one type.

    NULL takes the type of the others.
    """
    if isinstance(value, exp.Case):
        results = [branch.args["true"] for branch in value.args["ifs"]] + [
            value.args.get("default")
        ]
    elif isinstance(value, exp.If | exp.Nvl2):
        results = [value.args["true"], value.args.get("false")]
    else:
        results = [value.this, *value.expressions]
    names = {type_of(result) for result in results if result is not None} - {"void"}
    return names.pop() if len(names) == 1 else ""


_COMPOSED: tuple[tuple[type[exp.Expr] | tuple[type[exp.Expr], ...], Callable[..., str]], ...] = (
    (_ARITHMETIC, _of_sum),
    (exp.Abs, _of_size),
    (exp.Nullif, _of_first),
    ((exp.DPipe, exp.Concat), _of_text),
    ((exp.Case, exp.If, exp.Nvl2, exp.Coalesce, exp.Greatest, exp.Least), _of_choice),
    ((exp.Bracket, exp.ArrayMax, exp.ArrayMin), _of_element),
)
