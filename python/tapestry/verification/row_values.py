"""Finds the possible values of an expression, over values of single rows.

    max(ts), lag(ts), …              the ts of some row; of no row NULL
    max(ts) - min(ts)                of two rows, that need not be the same
    CASE WHEN c THEN x ELSE y END    x or y, where c reads the clock or an aggregate
    (SELECT x …)                     the x of some row, or NULL

So where ``max(ts) < now() - interval 5 seconds`` changes with time alone, it changes at an instant
at which ``ts < now() - interval 5 seconds`` does for some row: those of all rows are a superset.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from sqlglot import exp

from tapestry.errors import Refusal
from tapestry.sql import timing
from tapestry.sql.read.open_clauses import parts

OF_A_ROW = (
    *(exp.Max, exp.Min, exp.First, exp.Last, exp.FirstValue, exp.LastValue, exp.NthValue),
    *(exp.AnyValue, exp.ArgMax, exp.ArgMin, exp.Lag, exp.Lead),
)
"""Functions that give the value that their first argument has in some row."""
AROUND = (exp.Filter, exp.Window, exp.IgnoreNulls, exp.RespectNulls)
OWN = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.Between, exp.In)
"""Comparisons inside of a value: they are looked at by themselves."""
ROW = "\ufdd0"
"""Between an alias and the number of another row: no query has the character."""


class Choices:
    """Finds possible values; ``subqueries``: alias of a subquery's column -> its query."""

    def __init__(self) -> None:
        self.rows: dict[int, int] = {}
        self.subqueries: dict[str, exp.Expr] = {}

    def of(self, node: exp.Expr) -> Iterator[exp.Expr]:
        """Yield the possible values; aliases of other rows' columns are marked (``alias_of``)."""
        if isinstance(node, AROUND):
            yield from self.of(node.this)
        elif isinstance(node, OF_A_ROW):
            number = self.rows.setdefault(id(node), len(self.rows) + 1)
            for one in self.of(node.this):
                yield _of_row(one, number)
            yield null_like(node)
            default = node.args.get("default")
            if default is not None:
                yield from self.of(default)
        elif isinstance(node, exp.Case | exp.If) and _has_rows(node):
            for one in _branches(node):
                yield from self.of(one)
        elif isinstance(node, exp.AggFunc | exp.RowNumber):
            raise Refusal(
                "a bound in time that is worked out of several rows cannot be checked yet",
                node.sql("spark"),
                "compare now() with the value of one row: min, max, lag, first_value",
                code="not-checkable",
            )
        elif isinstance(node, exp.Query):
            number = self.rows.setdefault(id(node), len(self.rows) + 1)
            alias = f"_q{ROW}{number}"
            self.subqueries[alias] = node
            column = exp.column("_value", table=alias)
            column.type = node.type
            yield column
            yield null_like(node)
        else:
            yield from self.combined(node)

    def combined(self, node: exp.Expr) -> Iterator[exp.Expr]:
        """Yield every combination of the possible values of the operands."""
        children = [child for child in node.iter_expressions() if _has_rows(child)]
        if not children:
            yield node.copy()
            return
        before = list(node.iter_expressions())
        for chosen in product(*(list(self.of(child)) for child in children)):
            swapped = {id(child): one for child, one in zip(children, chosen, strict=True)}
            made = node.copy()
            for old, new in zip(before, list(made.iter_expressions()), strict=True):
                if id(old) in swapped:
                    one = swapped[id(old)].copy()
                    new.replace(timing.wrapped(one))
            yield made


def alias_of(column: exp.Column) -> tuple[str, str]:
    """Return the author's alias, and a mark that tells another row from the block's own."""
    alias, _, number = column.table.partition(ROW)
    return alias, number


def _of_row(node: exp.Expr, number: int) -> exp.Expr:
    for column in node.find_all(exp.Column):
        if ROW not in column.table:
            column.set("table", exp.to_identifier(f"{column.table}{ROW}{number}"))
    return node


def _has_rows(node: exp.Expr) -> bool:
    for part in node.walk(prune=lambda one: isinstance(one, exp.Query)):
        if isinstance(part, exp.AggFunc | exp.Window | exp.RowNumber | exp.Query):
            return True
        if isinstance(part, exp.Case | exp.If) and any(map(timing.is_now, parts(part))):
            return True
    return False


def _branches(node: exp.Expr) -> Iterator[exp.Expr]:
    if isinstance(node, exp.Case):
        for branch in node.args["ifs"]:
            yield branch.args["true"]
        default = node.args.get("default")
    else:
        yield node.args["true"]
        default = node.args.get("false")
    yield default if default is not None else null_like(node)


def null_like(node: exp.Expr) -> exp.Expr:
    """Return NULL of the type of a value, if the type is known."""
    if node.type is None or node.is_type("unknown", "null"):
        return exp.null()
    return exp.cast(exp.null(), node.type.copy())


def compares_clock(left: exp.Expr, right: exp.Expr) -> bool:
    """Return whether a comparison itself depends on the clock, not only one nested in it."""
    return any(_reads_clock(side) for side in (left, right))


def own_parts(node: exp.Expr) -> Iterator[exp.Expr]:
    """Return the parts of a value, except queries and comparisons, which change by themselves."""

    def apart(part: exp.Expr) -> bool:
        return isinstance(part, (exp.Query, exp.Where, *OWN))

    return (part for part in node.walk(prune=apart) if not apart(part))


def _reads_clock(node: exp.Expr) -> bool:
    return any(timing.is_now(part) for part in own_parts(node))
