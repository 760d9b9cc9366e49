"""Refuse aggregates whose value depends on the order in which rows come: Q(s) is no function then.

Spark adds in no fixed order: sum(0.1, 0.2, 0.3) over DOUBLE is 0.6 at one time and
0.6000000000000001 at another, and each of them would be an answer of its own.
"""

from __future__ import annotations

from sqlglot import exp

from tapestry.errors import Refusal
from tapestry.sql.catalog import Catalog
from tapestry.sql.read.exact_numbers import FLOAT, UNKNOWN, kind_of_number
from tapestry.sql.read.one_value import can_be_one

SUMS = (exp.Sum, exp.Avg)
SUM_NAMES = frozenset({"try_sum", "try_avg", "mean"})
DEVIATIONS = (
    *(exp.Stddev, exp.StddevPop, exp.StddevSamp, exp.Variance, exp.VariancePop, exp.Skewness),
    *(exp.Kurtosis, exp.Corr, exp.CovarPop, exp.CovarSamp, exp.RegrSlope, exp.RegrIntercept),
    *(exp.RegrR2, exp.RegrAvgx, exp.RegrAvgy, exp.RegrSxx, exp.RegrSxy, exp.RegrSyy),
)
DEVIATION_NAMES = frozenset({"std"})
LISTS = (exp.ArrayAgg, exp.GroupConcat, exp.ArrayUniqueAgg)
FIRSTS = (exp.First, exp.Last, exp.FirstValue, exp.LastValue, exp.AnyValue, exp.NthValue)
EXACT = (
    *(exp.Count, exp.CountIf, exp.Min, exp.Max, exp.LogicalAnd, exp.LogicalOr, exp.RegrCount),
    *(exp.BitwiseAndAgg, exp.BitwiseOrAgg, exp.BitwiseXorAgg, exp.Quantile),
    *(exp.Median, exp.ApproxDistinct, exp.Grouping, exp.GroupingId),
    *(exp.BitmapConstructAgg, exp.BitmapOrAgg),
    *(exp.Rank, exp.DenseRank, exp.PercentRank, exp.CumeDist, exp.Ntile, exp.Lag, exp.Lead),
)
"""Their value is that of a bag; of a window function, of an order that is made total."""
EXACT_NAMES = frozenset({"any", "some", "every", "percentile"})
_OF_A_BAG = (exp.ArraySort, exp.ArraySize, exp.ArrayMax, exp.ArrayMin)
"""Functions of a list whose value does not depend on the order of the list."""


def refuse_inexact(tree: exp.Query, catalog: Catalog) -> exp.Query:
    """The query itself; Refusal for a sum of DOUBLEs, a list or a first value without an order."""
    for node in tree.find_all(exp.AggFunc):
        exact = isinstance(node, EXACT) and not isinstance(node, exp.ApproxQuantile)
        exact = exact or can_be_one(node)
        if exact or _name(node) in EXACT_NAMES or _is_overlooked(node):
            continue
        if isinstance(node, SUMS) or _name(node) in SUM_NAMES:
            _refuse_sum(node)
        elif isinstance(node, DEVIATIONS) or _name(node) in DEVIATION_NAMES:
            raise Refusal(
                f"{_said(node)}() is computed in DOUBLE, in no fixed order: it is not the same"
                " twice",
                node.sql("spark"),
                "compute it from count(*) and exact sums of x and x * x, each CAST(… AS"
                " DECIMAL(38,6)), or in a table downstream",
                code="inexact-sum",
            )
        elif not _is_ordered(node):
            raise Refusal(
                f"{_said(node)}() depends on the order in which rows come: it is not the same"
                " twice",
                _around(node).sql("spark"),
                _instead(node),
                code="no-order",
            )
    return tree


def _refuse_sum(node: exp.AggFunc) -> None:
    argument = node.expressions[0] if isinstance(node, exp.AnonymousAggFunc) else node.this
    kind = kind_of_number(argument)
    if kind == FLOAT:
        reason = f"{_said(node)}() over DOUBLE or FLOAT is added up in no fixed order"
        reason += ": it is not the same twice"
    elif kind == UNKNOWN:
        reason = f"{_said(node)}() over what may be DOUBLE or FLOAT, added up in no fixed order"
    else:
        return
    raise Refusal(
        reason,
        node.sql("spark"),
        f"write {_said(node)}(CAST({argument.sql('spark')} AS DECIMAL(38,6)))",
        code="inexact-sum",
    )


def _is_ordered(node: exp.AggFunc) -> bool:
    """Return whether a list or first value does not depend on the order in which rows come."""
    around = _around(node)
    if isinstance(node, LISTS):
        if isinstance(node.this, exp.Order):  # WITHIN GROUP
            keys = [one.this for one in node.this.expressions]
            value = node.this.this
            return (value.expressions[0] if isinstance(value, exp.Distinct) else value) in keys
        outer = around.parent
        sorts = isinstance(outer, _OF_A_BAG) and outer.args.get("expression") is None
        among = isinstance(outer, exp.ArrayContains) and around.arg_key == "this"
        return sorts or among
    if not isinstance(node, FIRSTS) or not isinstance(around, exp.Window):
        return False
    if isinstance(node, exp.AnyValue):
        return False
    spec = around.args.get("spec")
    if spec is not None:
        return str(spec.args.get("kind") or "").upper() == "ROWS"
    return isinstance(node, exp.First | exp.FirstValue)


def _around(node: exp.Expr) -> exp.Expr:
    """Return the aggregate with its FILTER, WITHIN GROUP and OVER."""
    kinds = exp.Filter | exp.IgnoreNulls | exp.RespectNulls | exp.Window | exp.WithinGroup
    while isinstance(node.parent, kinds) and node.arg_key == "this":
        node = node.parent
    return node


def _is_overlooked(node: exp.Expr) -> bool:
    """Return whether a node stands in the select list of an EXISTS."""
    select = node.find_ancestor(exp.Select)
    if select is None or not isinstance(select.parent, exp.Exists):
        return False
    item: exp.Expr = node
    while item.parent is not select and item.parent is not None:
        item = item.parent
    return item.arg_key == "expressions"


def _instead(node: exp.Expr) -> str:
    """Return advice what to write in place of an aggregate."""
    name = _said(node)
    if isinstance(node, exp.ArgMax | exp.ArgMin | exp.AnyValue):
        if node.args.get("count") is not None:
            return "rank the rows with row_number(), and list those of the first ranks"
        return f"write it over a value that has an order: {name}(to_json(…)), no map"
    if isinstance(node, exp.ArrayUniqueAgg | exp.ArrayAgg):
        return f"write sort_array({node.sql('spark').lower()})"
    if isinstance(node, exp.GroupConcat):
        return f"write {name}(…) WITHIN GROUP (ORDER BY …) by the value itself"
    if isinstance(node, exp.NthValue) or _is_window(node):
        return "give its OVER a frame of rows: (… ORDER BY … ROWS BETWEEN … AND …)"
    if isinstance(node, exp.First | exp.Last | exp.FirstValue | exp.LastValue):
        value = node.this.sql("spark")
        by = "min_by" if isinstance(node, exp.First | exp.FirstValue) else "max_by"
        return f"write any_value({value}), or by a time: {by}({value}, ts)"
    if isinstance(node, exp.ApproxQuantile):
        return "write percentile(…), which is exact"
    if isinstance(node, exp.Mode):
        return "rank the values by count(*) and the value itself with row_number()"
    return "compute it in a table downstream"


def _is_window(node: exp.Expr) -> bool:
    return isinstance(_around(node), exp.Window)


def _name(node: exp.Expr) -> str:
    return node.name.lower() if isinstance(node, exp.AnonymousAggFunc) else ""


def _said(node: exp.Expr) -> str:
    """Return the name of a function in Spark."""
    return _name(node) or node.sql("spark").partition("(")[0].lower()
