"""Functions that sqlglot would print as something else, or does not know as aggregates."""

from __future__ import annotations

from sqlglot import exp

from tapestry.errors import Refusal
from tapestry.sql.read.functions import spark_functions, user_defined

_AGGREGATES = frozenset(
    {
        *("every", "some", "mean", "std", "try_avg", "try_sum", "count_min_sketch"),
        *("histogram_numeric", "kll_sketch_agg_bigint", "kll_sketch_agg_double"),
        "kll_sketch_agg_float",
        *(name for name in spark_functions() if name.endswith("_agg")),
    }
)
"""Spark's aggregates that sqlglot may not know as such."""
_AS_WRITTEN = {"to_char": exp.ToChar, "parse_json": exp.ParseJSON, "unix_date": exp.UnixDate}
PERCENTILE = "_tap_percentile"
"""percentile() in the tokens: the parser would lose its third argument, a value's frequency."""


def keep_as_written(tree: exp.Query) -> None:
    """Keep functions that sqlglot would print differently, or does not know as aggregates."""
    for name, kind in _AS_WRITTEN.items():
        for node in list(tree.find_all(kind)):
            arguments = [node.args[place] for place in ("this", "format") if node.args.get(place)]
            node.replace(exp.Anonymous(this=name, expressions=[a.copy() for a in arguments]))
    for node in list(tree.find_all(exp.Collate)):
        if isinstance(node.expression, exp.Literal):  # collate(x, 'name'), not x COLLATE name
            called = [node.this.copy(), node.expression.copy()]
            node.replace(exp.Anonymous(this="collate", expressions=called))
    _keep_collations(tree)
    for call in list(tree.find_all(exp.Any)):
        if not isinstance(call.parent, exp.Binary):  # else x LIKE ANY (…)
            call.replace(exp.AnonymousAggFunc(this="any", expressions=[call.this.unnest()]))
    for ordered in list(tree.find_all(exp.WithinGroup)):
        _percentile_within(ordered)
    for node in list(tree.find_all(exp.Anonymous)):
        name = node.name.lower()
        if name == PERCENTILE:
            node.replace(_percentile(node.expressions))
            continue
        if name in _AGGREGATES and not user_defined(node):
            node.replace(exp.AnonymousAggFunc(this=name, expressions=node.expressions))
        elif name == "timediff" and len(node.expressions) == 3:
            unit, start, end = node.expressions
            node.replace(exp.TimestampDiff(this=end, expression=start, unit=exp.var(unit.name)))
    for node in list(tree.find_all(exp.DateDiff)):
        if node.args.get("unit") is not None:  # whole units, not midnights: TIMESTAMPDIFF's twin
            ends = {place: node.args[place].this for place in ("this", "expression")}
            node.replace(exp.TimestampDiff(**ends, unit=node.args["unit"]))


def _keep_collations(tree: exp.Query) -> None:
    """Make the operand of COLLATE in a type a name, which sqlglot takes for a column."""
    for type_ in tree.find_all(exp.DataType):
        collation = type_.args.get("collate")
        if isinstance(collation, exp.Column):
            type_.set("collate", exp.var(collation.sql("spark")))


def _percentile(arguments: list[exp.Expr]) -> exp.Expr:
    if len(arguments) == 2:
        return exp.Quantile(this=arguments[0], quantile=arguments[1])
    return exp.AnonymousAggFunc(this="percentile", expressions=arguments)


def _percentile_within(node: exp.WithinGroup) -> None:
    """``percentile_cont(p) WITHIN GROUP (ORDER BY x)`` is percentile(x, p).

    sqlglot would print it, and percentile_disc, as percentile_approx, which gives other values.
    """
    function, ordered = node.this, node.expression.expressions
    if not isinstance(function, exp.PercentileCont | exp.PercentileDisc):
        return
    if isinstance(function, exp.PercentileDisc) or len(ordered) != 1 or ordered[0].args.get("desc"):
        raise Refusal(
            "percentile_disc, or a percentile of a descending order, is not supported",
            f"{function.key.upper()}(…) WITHIN GROUP (…)",
            "write percentile(x, 0.9), which is percentile_cont(0.9) WITHIN GROUP (ORDER BY x)",
            code="unsupported-clause",
        )
    node.replace(exp.Quantile(this=ordered[0].this, quantile=function.this))
