"""Tells whether a sum depends on the order of its rows: one over DOUBLE or FLOAT does.

The parser's own types are guesses (it takes ``v * 1.5`` for a DOUBLE, which is a DECIMAL), so only
those of columns are asked, and what becomes of them is worked out as Spark does.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from tapestry.sql.facts.common_types import type_of
from tapestry.sql.facts.from_clause import relations_of
from tapestry.sql.read.generators import kinds_made
from tapestry.sql.read.inline_inner_ctes import cte_of

WHOLE, DECIMAL, FLOAT, UNKNOWN = "whole", "decimal", "float", ""
"""Kinds of numbers; those of an interval are whole (of months, or of microseconds)."""

_SAME = (
    *(exp.Paren, exp.Alias, exp.Neg, exp.Abs, exp.Round, exp.Nullif, exp.Window, exp.Filter),
    *(exp.IgnoreNulls, exp.RespectNulls, exp.Distinct, exp.Sum, exp.Min, exp.Max, exp.ArgMax),
    *(exp.ArgMin, exp.First, exp.Last, exp.FirstValue, exp.LastValue, exp.NthValue, exp.Lag),
    exp.Lead,
)
"""Expressions that have the kind of their first argument."""
_BOTH = (exp.Add, exp.Sub, exp.Mul, exp.Mod)
_WHOLE = (
    *(exp.Count, exp.CountIf, exp.RowNumber, exp.Rank, exp.DenseRank, exp.Ntile, exp.IntDiv),
    *(exp.DateDiff, exp.TsOrDsDiff, exp.TimestampDiff, exp.Length, exp.ArraySize, exp.StrPosition),
    *(exp.Year, exp.Quarter, exp.Month, exp.Day, exp.DayOfWeek, exp.DayOfYear, exp.WeekOfYear),
    *(exp.Hour, exp.Minute, exp.Second, exp.UnixSeconds, exp.UnixMillis, exp.UnixMicros),
    *(exp.StrToUnix, exp.TimeToUnix, exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor, exp.BitwiseNot),
    *(exp.ApproxDistinct, exp.Unicode, exp.Levenshtein, exp.RegexpCount, exp.Grouping),
)
_WHOLE_NAMES = frozenset(
    {
        *("unix_timestamp", "unix_seconds", "unix_millis", "unix_micros", "unix_date", "hash"),
        *("xxhash64", "locate", "position", "ascii", "bit_count", "weekday", "cardinality"),
    }
)
_FLOATS = (exp.Sqrt, exp.Cbrt, exp.Pow, exp.Ln, exp.Log, exp.Exp, exp.CumeDist, exp.PercentRank)


def kind_of_number(node: exp.Expr) -> str:
    """Return what kind of number Spark makes of an expression whose names are resolved.

    >>> texts = ("1 + 2", "1 / 2", "1.5 * 2", "CASE WHEN a THEN 1 ELSE 2E0 END", "f(1)")
    >>> [kind_of_number(exp.maybe_parse(text, dialect="spark")) for text in texts]
    ['whole', 'float', 'decimal', 'float', '']
    """
    if isinstance(node, exp.Column):
        return _of_column(node)
    if isinstance(node, exp.Dot):
        return _of_field(node)
    if isinstance(node, exp.Cast):
        return _of_type(type_of(node))
    if isinstance(node, exp.Subquery):
        return _of_items(list(_items(node, 0)))
    if isinstance(node, exp.Literal):
        return FLOAT if node.is_string else _of_type(type_of(node))
    if isinstance(node, exp.Distinct):
        return _combined([kind_of_number(one) for one in node.expressions])
    if isinstance(node, exp.Round) and not _is_constant(node.args.get("decimals")):
        return UNKNOWN
    if isinstance(node, exp.Div):
        kinds = [kind_of_number(node.this), kind_of_number(node.expression)]
        return FLOAT if kinds == [WHOLE, WHOLE] else _combined(kinds)
    if isinstance(node, exp.Avg | exp.Median):  # of whole numbers: a DOUBLE
        kind = kind_of_number(node.this)
        return FLOAT if kind == WHOLE or isinstance(node, exp.Median) else kind
    if isinstance(node, _SAME):
        return kind_of_number(node.this)
    if isinstance(node, _BOTH):
        return _combined([kind_of_number(node.this), kind_of_number(node.expression)])
    if isinstance(node, exp.Ceil | exp.Floor):
        return kind_of_number(node.this) if node.args.get("decimals") else WHOLE
    if isinstance(node, (exp.Interval, *_WHOLE)):
        return WHOLE
    if isinstance(node, exp.Anonymous):
        return WHOLE if node.name.lower() in _WHOLE_NAMES else UNKNOWN
    if isinstance(node, _FLOATS):
        return FLOAT
    return _of_items(list(_results(node)))


def _is_constant(node: exp.Expr | None) -> bool:
    return node is None or isinstance(node.unnest(), exp.Literal | exp.Neg)


def _results(node: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the values between which an expression chooses."""
    if isinstance(node, exp.Case):
        yield from (branch.args["true"] for branch in node.args["ifs"])
        if node.args.get("default") is not None:
            yield node.args["default"]
    elif isinstance(node, exp.If | exp.Nvl2):
        yield node.args["true"]
        if node.args.get("false") is not None:
            yield node.args["false"]
    elif isinstance(node, exp.Coalesce | exp.Greatest | exp.Least):
        yield from (node.this, *node.expressions)


def _of_items(items: list[exp.Expr]) -> str:
    return _combined([kind_of_number(one) for one in items if not isinstance(one, exp.Null)])


def _combined(kinds: list[str]) -> str:
    """Return the kind to which Spark widens numbers of these kinds."""
    if FLOAT in kinds:
        return FLOAT
    if UNKNOWN in kinds or not kinds:
        return UNKNOWN
    return DECIMAL if DECIMAL in kinds else WHOLE


def _of_type(name: str) -> str:
    if name in ("tinyint", "smallint", "int", "bigint", "void") or name.startswith("interval"):
        return WHOLE
    if name.startswith("decimal"):
        return DECIMAL
    return FLOAT if name in ("float", "double", "string") else UNKNOWN  # Spark adds texts up so


def _of_column(column: exp.Column) -> str:
    """Return the kind of a column: by its type for a table, by its item for a query."""
    relation = relation_of(column)
    if relation is None:
        return _of_generator(column)
    query: exp.Expr | None = relation
    if isinstance(relation, exp.Table):
        cte = cte_of(relation)
        if cte is None:
            return _of_type(type_of(column))
        query = cte
    alias = relation.args.get("alias")
    listed = [one.name for one in alias.columns] if alias is not None else []
    if isinstance(query, exp.CTE) and not listed:
        listed = [one.name for one in query.args["alias"].columns]
    assert query is not None
    names = [name.lower() for name in listed or query.this.named_selects]
    if names.count(column.name.lower()) != 1:
        return UNKNOWN
    return _of_items(list(_items(query.this, names.index(column.name.lower()))))


def _of_generator(column: exp.Column) -> str:
    """Return the kind of a column of LATERAL VIEW, from the elements of its list."""
    lateral = _lateral_of(column)
    if lateral is None:
        return UNKNOWN
    names = [one.name for one in lateral.args["alias"].columns]
    call = lateral.this
    if isinstance(call, exp.Posexplode) and column.name == names[0]:
        return WHOLE
    if isinstance(call.this, exp.Array):
        return _of_items(call.this.expressions)
    kinds = dict(zip(names, kinds_made(call), strict=False))
    return _of_type(kinds[column.name].sql("spark").lower()) if column.name in kinds else UNKNOWN


def _of_field(node: exp.Dot) -> str:
    """Return the kind of a field that a generator makes, from the structs of its list.

    The rows of VALUES are such structs.
    """
    column = node.this
    lateral = _lateral_of(column) if isinstance(column, exp.Column) else None
    if lateral is None or not isinstance(lateral.this.this, exp.Array):
        return UNKNOWN
    fields: list[exp.Expr] = []
    for one in lateral.this.this.expressions:
        found = [part for part in one.expressions if part.alias_or_name == node.name]
        if not isinstance(one, exp.Struct) or len(found) != 1:
            return UNKNOWN
        part = found[0]
        fields.append(part.expression if isinstance(part, exp.PropertyEQ) else part.unalias())
    return _of_items(fields)


def _lateral_of(column: exp.Column) -> exp.Lateral | None:
    """Return the LATERAL VIEW of the column's block that makes the column."""
    select = column.find_ancestor(exp.Select)
    laterals = (select.args.get("laterals") or []) if select is not None else []
    return next((one for one in laterals if one.alias == column.table), None)


def _items(query: exp.Expr, place: int) -> Iterator[exp.Expr]:
    """Yield the item at a place of a query's select list, for each side of a set operation."""
    while isinstance(query, exp.Subquery):
        query = query.this
    if isinstance(query, exp.SetOperation):
        yield from _items(query.this, place)
        yield from _items(query.expression, place)
    elif isinstance(query, exp.Select) and place < len(query.selects):
        yield query.selects[place].unalias()


def relation_of(column: exp.Column) -> exp.Expr | None:
    """Return the table, derived table or CTE in FROM of a column; None if it has none."""
    select = column.find_ancestor(exp.Select)
    while select is not None:
        for relation in relations_of(select):
            if relation.alias_or_name == column.table:
                return relation
        select = select.find_ancestor(exp.Select)
    return None
