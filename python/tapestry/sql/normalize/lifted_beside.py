"""Arms that are evaluated at instants beside other arms of the outermost UNION ALL."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import reduce
from itertools import combinations

from sqlglot import exp

from tapestry.errors import Refusal
from tapestry.sql.arms import AtInstants, FirstRows, Lifted, RunningGroups
from tapestry.sql.facts.common_types import common_type, type_of
from tapestry.sql.facts.values import universe_of
from tapestry.sql.ir import Bag, SetQuery
from tapestry.sql.read.exact_numbers import WHOLE, kind_of_number

_BIGINTS = (exp.Count, exp.CountIf, exp.ApproxDistinct)
_INTS = (exp.RowNumber, exp.Rank, exp.DenseRank, exp.Ntile)
_OF_WHOLE: dict[type[exp.Expr], str] = {exp.Sum: "bigint", exp.Avg: "double"}
Side = Bag | SetQuery | AtInstants | RunningGroups | FirstRows


def beside(inputs: Sequence[Side], node: exp.SetOperation) -> Sequence[Side]:
    """The arms of a UNION ALL.

    Raises Refusal where a column has not the same type in all of them, or where nothing tells the
    answers of an arm that counts by value from those of another one: the table holds no arm.
    """
    lists = [_select(side) for side in inputs]
    for place, values in enumerate(zip(*lists, strict=True)):
        types = {_type(value) for value in values} - {"void"}
        if len(types) > 1 or "" in types:
            name = node.named_selects[place]
            raise Refusal(
                f"the column {name} of a UNION ALL with an aggregate has no single type",
                " beside ".join(f"{one.sql('spark')} ({_type(one) or '?'})" for one in values),
                f"cast it in each arm to one type: CAST(… AS BIGINT) AS {name}",
                code="untyped-column",
            )
    for (one, here), (other, there) in combinations(zip(inputs, lists, strict=True), 2):
        if any(isinstance(s, Lifted) and not s.by_rows for s in (one, other)):
            _tell_apart(here, there, node)
    return inputs


def _tell_apart(here: Sequence[exp.Expr], there: Sequence[exp.Expr], node: exp.Expr) -> None:
    for left, right in zip(here, there, strict=True):
        left, right = left.unalias(), right.unalias()
        if isinstance(left, exp.Literal) and isinstance(right, exp.Literal) and left != right:
            return
    raise Refusal(
        "answers of one arm of a UNION ALL cannot be told from those of another one, and one of"
        " them counts by value (an aggregate, a window function, LIMIT)",
        node.sql("spark"),
        "select a literal that differs in every arm: 'daily' AS kind",
        code="arms-alike",
    )


def _select(side: Side) -> Sequence[exp.Expr]:
    return side.tree.selects if isinstance(side, Lifted) else universe_of(side)[0].select


def _type(value: exp.Expr) -> str:
    value = value.unalias()
    while isinstance(value, exp.Window | exp.Filter | exp.Paren):
        value = value.this
    if isinstance(value, exp.Coalesce):
        return reduce(common_type, [_type(one) for one in (value.this, *value.expressions)])
    if isinstance(value, _BIGINTS):
        return "bigint"
    if isinstance(value, _INTS):
        return "int"
    if isinstance(value, exp.Min | exp.Max | exp.Lag | exp.Lead | exp.FirstValue | exp.LastValue):
        return _type(value.this)
    if isinstance(value, exp.Sum | exp.Avg) and kind_of_number(value.this) == WHOLE:
        return "" if value.this.find(exp.Interval) else _OF_WHOLE[type(value)]
    if isinstance(value, exp.Sum):
        return type_of_sum(_type(value.this))
    if isinstance(value, exp.Column):
        return type_of(value)
    return type_of(value) or ""


def type_of_sum(name: str) -> str:
    """Spark adds up ten more digits than there are in one DECIMAL."""
    found = re.fullmatch(r"decimal\((\d+),(\d+)\)", name)
    return f"decimal({min(38, int(found[1]) + 10)},{found[2]})" if found is not None else ""
