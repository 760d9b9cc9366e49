"""Refuse aggregates, window functions and columns where a group or a row has no such value.

Spark refuses most of it too, when the query runs; here it is said before, in the same words for
all of it, and what the rewriting would read otherwise than Spark never comes so far.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sqlglot import exp

from tapestry.errors import Refusal
from tapestry.sql.catalog import Catalog
from tapestry.sql.facts.from_clause import relations_of
from tapestry.sql.read.open_clauses import is_aggregate, parts
from tapestry.sql.read.refuse_unsupported import refuse_row_makers

RANKS = (
    *(exp.RowNumber, exp.Rank, exp.DenseRank, exp.PercentRank, exp.CumeDist, exp.Ntile),
    *(exp.Lag, exp.Lead, exp.NthValue),
)
"""Functions that there are over a window with an order only."""
OVER_ROWS = (exp.Window, exp.AggFunc, exp.RowNumber)
"""Expressions that are computed over several rows; a window may lack its OVER."""


def refuse_misplaced(tree: exp.Query, catalog: Catalog) -> exp.Query:
    """The query itself; Refusal for an aggregate or a column that stands where there is none."""
    for select in tree.find_all(exp.Select):
        refuse_row_makers(select)
        _refuse_in_rows(select)
        for clause in _of_groups(select):
            for part in parts(clause):
                if isinstance(part, exp.Window):
                    _refuse_window(part)
                elif isinstance(part, RANKS) and not _is_windowed(part):
                    _refuse_bare(part)
                elif is_aggregate(part):
                    _refuse_nested(part)
        _refuse_window_in_having(select)
        _refuse_ungrouped(select)
    return tree


def _of_groups(select: exp.Select) -> Iterator[exp.Expr]:
    """Yield the clauses that are evaluated for groups, if there are any."""
    yield from select.selects
    for name in ("having", "order"):
        if select.args.get(name) is not None:
            yield select.args[name]


def _refuse_in_rows(select: exp.Select) -> None:
    """Raise Refusal for aggregates and windows where a row is formed or filtered.

    There is none of the block's own there, in any engine. One of the query around, which HAVING
    with a subquery has, would be taken for one.
    """
    joins = select.args.get("joins") or []
    clauses = [select.args.get(name) for name in ("where", "group")]
    for clause in (*clauses, *(join.args.get("on") for join in joins)):
        for part in parts(clause) if clause is not None else ():
            if not isinstance(part, OVER_ROWS) or isinstance(part, exp.Grouping | exp.GroupingId):
                continue
            own = [one.alias_or_name for one in relations_of(select)]
            tables = {column.table for column in part.find_all(exp.Column)}
            if tables and tables.isdisjoint(own):
                raise Refusal(
                    "a subquery compares an aggregate of the query around it",
                    part.sql("spark"),
                    "compute the aggregate in a derived table or CTE, and write the subquery in"
                    " the WHERE of a query over that",
                    code="misplaced-aggregate",
                )
            raise Refusal(
                "an aggregate or a window stands in WHERE, ON or GROUP BY, where rows have no"
                " groups",
                part.sql("spark"),
                "write a condition on groups in HAVING; compute a window function in a derived"
                " table, or write QUALIFY",
                code="misplaced-aggregate",
            )


def _refuse_window(window: exp.Window) -> None:
    function: exp.Expr = window.this
    while isinstance(function, exp.IgnoreNulls | exp.RespectNulls | exp.Filter):
        function = function.this
    inside = [part for part in parts(window) if isinstance(part, exp.Window) and part is not window]
    if inside:
        raise Refusal(
            "a window function stands inside another one",
            window.sql("spark"),
            "compute the inner one in a derived table: FROM (SELECT …, rank() OVER … AS n …) AS q",
            code="nested-window",
        )
    if isinstance(function, RANKS) and window.args.get("order") is None:
        raise Refusal(
            f"{function.sql('spark').partition('(')[0].lower()}() ranks rows without an order",
            window.sql("spark"),
            "write OVER (… ORDER BY …)",
            code="no-order",
        )
    if window.this.find(exp.Filter) is not None:
        raise Refusal(
            "FILTER in a window function, which Spark does not have",
            window.sql("spark"),
            "write CASE inside: sum(CASE WHEN … THEN x END) OVER (…)",
            code="filter-window",
        )
    if isinstance(function, exp.AggFunc) and isinstance(function.this, exp.Distinct):
        raise Refusal(
            "DISTINCT in a window function, which Spark does not have",
            window.sql("spark"),
            "write size(collect_set(x) OVER (…)) for count(DISTINCT x)",
            code="distinct-window",
        )
    spec = window.args.get("spec")
    if spec is not None and (
        str(spec.args.get("kind")).upper() == "GROUPS" or spec.args.get("exclude")
    ):
        raise Refusal(
            "a frame of GROUPS, or with EXCLUDE, which Spark does not have",
            window.sql("spark"),
            "write a frame of ROWS or RANGE",
            code="odd-frame",
        )


def _is_windowed(node: exp.Expr) -> bool:
    around = node.parent
    while isinstance(around, exp.IgnoreNulls | exp.RespectNulls | exp.Filter):
        around = around.parent
    return isinstance(around, exp.Window)


def _refuse_bare(function: exp.Expr) -> None:
    raise Refusal(
        "a window function without OVER",
        function.sql("spark"),
        "write OVER (PARTITION BY … ORDER BY …)",
        code="no-order",
    )


def _refuse_nested(aggregate: exp.Expr) -> None:
    whole: exp.Expr = aggregate
    while isinstance(whole.parent, exp.Filter | exp.WithinGroup):
        whole = whole.parent
    for part in parts(whole):
        if part is not aggregate and isinstance(part, OVER_ROWS):
            what = "a window function" if isinstance(part, exp.Window) else "an aggregate"
            raise Refusal(
                f"{what} stands inside an aggregate",
                whole.sql("spark"),
                "compute the inner one in a derived table: FROM (SELECT …, sum(x) AS s …) AS q",
                code="nested-aggregate",
            )


def _refuse_window_in_having(select: exp.Select) -> None:
    having = select.args.get("having")
    for part in parts(having) if having is not None else ():
        if isinstance(part, exp.Window):
            raise Refusal(
                "a window function stands in HAVING",
                part.sql("spark"),
                "write QUALIFY, or compute it in a derived table and compare it there",
                code="misplaced-aggregate",
            )


def _refuse_ungrouped(select: exp.Select) -> None:
    """Raise Refusal for a column of a group that may have several values in it."""
    group, having = select.args.get("group"), select.args.get("having")
    clauses = [*_of_groups(select)]
    if select.args.get("limit") is None and select.args.get("offset") is None:
        clauses = [one for one in clauses if one is not select.args.get("order")]
    grouped = group is not None or having is not None
    if not grouped and not any(is_aggregate(part) for one in clauses for part in parts(one)):
        return
    keys = {one.unnest() for one in _keys(group)}
    own = _relations(select)
    for item in select.selects:
        _refuse_subquery_of_group(item, keys, own)
    for clause in clauses:
        for column in _loose(clause, keys, own):
            raise Refusal(
                f"{column.sql('spark')} is neither grouped nor in an aggregate: a group may"
                " have several values of it",
                clause.sql("spark"),
                f"add it to GROUP BY, or write max({column.sql('spark')})",
                code="ungrouped-column",
            )


def _refuse_subquery_of_group(item: exp.Expr, keys: set[exp.Expr], own: set[str]) -> None:
    """Raise Refusal for a subquery in the select list that uses columns of the groups: as Spark."""
    for part in item.walk(prune=lambda one: is_aggregate(one) or isinstance(one, exp.Query)):
        if not isinstance(part, exp.Subquery) or part in keys:
            continue
        if any(_columns(part, own, lambda _: False)):
            raise Refusal(
                "a subquery beside aggregates uses a column of the groups, which Spark does not"
                " support",
                part.sql("spark"),
                "compute the aggregates in a derived table, and the subquery over that:"
                " SELECT q.k, (SELECT … WHERE … = q.k) FROM (SELECT k, … GROUP BY k) AS q",
                code="correlated",
            )


def _keys(group: exp.Expr | None) -> Iterator[exp.Expr]:
    """Yield the expressions that a block groups by, in any of its grouping sets."""
    for item in group.expressions if group is not None else ():
        if isinstance(item, exp.Rollup | exp.Cube | exp.GroupingSets | exp.Tuple):
            yield from _keys(item)
        elif isinstance(item, exp.Paren):
            yield item.this
        else:
            yield item


def _without_filter(node: exp.Expr) -> exp.Expr:
    while isinstance(node, exp.Filter | exp.WithinGroup | exp.IgnoreNulls | exp.RespectNulls):
        node = node.this
    return node


def _loose(node: exp.Expr, keys: set[exp.Expr], own: set[str]) -> Iterator[exp.Column]:
    """Yield columns outside of aggregates and grouping expressions, in subqueries, too."""
    return _columns(
        node, own, lambda one: one.unnest() in keys or is_aggregate(_without_filter(one))
    )


def _columns(
    node: exp.Expr, own: set[str], left_out: Callable[[exp.Expr], bool]
) -> Iterator[exp.Column]:
    """Columns of ``own`` relations; a subquery may read another relation of the same name."""
    if left_out(node):
        return
    if isinstance(node, exp.Column):
        if node.table in own:
            yield node
        return
    if isinstance(node, exp.Select):
        own = own - _relations(node)
    for child in node.iter_expressions():
        yield from _columns(child, own, left_out)


def _relations(select: exp.Select) -> set[str]:
    """Return the aliases of a block's relations."""
    laterals = (one.alias for one in select.args.get("laterals") or [])
    return {*(one.alias_or_name for one in relations_of(select)), *laterals}
