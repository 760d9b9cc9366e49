"""Tells whether conditions on a table imply another, so that rows kept for it serve them, too."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from tapestry.sql.catalog import Column
from tapestry.sql.infer.constants import constant_of
from tapestry.sql.infer.propagate import Constraint, RangeState, fixpoint
from tapestry.sql.infer.read import Compared, columns_in, constraint_of

LONGEST = 400
"""Characters of a condition that is compared by what it means, and not by its text alone."""
MOST = 50
"""So many conditions are read."""
_TABLE = "t"
Columns = tuple[Column, ...]


def all_implied(goals: Iterable[str], by: Sequence[str], columns: Columns, zone: str) -> bool:
    """Return whether each of these conditions is TRUE of every row for which all of ``by`` are.

    Both are SQL over the columns of one table, as ``Use.conditions``. A goal is one of ``by``, or a
    comparison of a column with a constant that follows from the ranges that ``by`` leaves; False
    where that is not certain.

    >>> of = (Column("a", "int"),)
    >>> all_implied(["`a` > 5"], ["`a` > 7"], of, "UTC")
    True
    >>> all_implied(["`a` > 7"], ["`a` > 5"], of, "UTC")
    False
    """
    unsaid = [goal for goal in goals if goal not in by]
    if not unsaid:
        return True
    if len(by) > MOST:
        return False
    read = [_read(one, columns, zone) for one in by]
    told = {number: one for number, one in enumerate(read) if one is not None}
    state = fixpoint(told, {})
    return state is not None and all(_follows(one, told, state, columns, zone) for one in unsaid)


def _follows(
    goal: str, told: dict[int, Constraint], state: RangeState, columns: Columns, zone: str
) -> bool:
    """Return whether a goal can be neither FALSE nor NULL where the ``told`` constraints hold."""
    tree = _comparison(goal, columns, zone)
    if tree is None:
        return False
    otherwise = constraint_of(exp.not_(tree), zone, frozenset())
    # A column is in the state where some condition needs it not to be NULL.
    if otherwise is None or not set(columns_in(tree)) & state.columns.keys():
        return False
    return fixpoint({**told, len(told) + MOST: otherwise}, {}) is None


def _comparison(text: str, columns: Columns, zone: str) -> exp.Binary | None:
    """Return a comparison of a column with a constant, in sqlglot's spelling; None for other texts.

    The text may come from outside, and is to be run as it is: such a one calls no function.
    """
    tree = condition_tree(text, columns)
    if not isinstance(tree, exp.Binary) or _text(tree) != text:
        return None
    sides = tree.this.unnest(), tree.expression.unnest()
    beside = [one for one in sides if not isinstance(one, exp.Column)]
    if len(beside) != 1 or constant_of(beside[0], zone) is None:
        return None
    return tree if isinstance(constraint_of(tree, zone, frozenset()), Compared) else None


def _read(text: str, columns: Columns, zone: str) -> Constraint | None:
    tree = condition_tree(text, columns)
    return None if tree is None else constraint_of(tree, zone, frozenset())


@lru_cache(maxsize=1000)
def condition_tree(text: str, columns: Columns) -> exp.Expr | None:
    """Return a condition with its columns typed; None if it cannot be read."""
    if len(text) > LONGEST:
        return None
    types = {column.name: column for column in columns}
    try:
        tree = parse_one(text, dialect="spark")
        for one in tree.find_all(exp.Column):
            if one.table or one.name not in types:
                return None
            one.set("table", exp.to_identifier(_TABLE))
            one.type = types[one.name].data_type
    except (SqlglotError, ValueError, RecursionError):
        return None
    return tree


def _text(tree: exp.Expr) -> str:
    """Return the text of a condition, as it was given."""
    bare = tree.copy()
    for one in bare.find_all(exp.Column):
        one.set("table", None)
    return bare.sql("spark", comments=False)
