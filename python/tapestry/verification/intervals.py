"""Tells whether an answer can hold, cease to hold, and hold again.

Not where its derivation holds under an AND of conditions of which each holds over one interval of
time: those without the clock and without subqueries never change; a comparison with the clock
changes once, or is an equality; rows only arrive, so that EXISTS (a join without the clock) comes
to hold and stays, and NOT EXISTS ceases to and never comes back.  (Where rows of a source end, that
is so of joins only: their interval ends too.)  Then an answer of two instants is
one at every instant between them.  What is not of this kind is said to hold again.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from tapestry.sql.facts.from_clause import Ctes
from tapestry.sql.timing import contains_now
from tapestry.verification.scopes import by_value, conditions, from_items, is_plain

ORDERED = (exp.LT, exp.LTE, exp.GT, exp.GTE, exp.EQ)
SEVERAL = (exp.Or, exp.Not, exp.NEQ, exp.Case, exp.If, exp.In, exp.Between, exp.NullSafeEQ)
"""Expressions that may give one comparison several intervals, or that were not examined."""
COUNTED = (exp.AggFunc, exp.Having, exp.Qualify, exp.Window, exp.Limit, exp.Offset)


def may_hold_again(tree: exp.Expr, ending: bool = False) -> bool:
    """Return whether an answer may hold again; ``ending``: rows of its sources end."""
    if ending and tree.find(exp.Exists) is not None:
        return True  # the row that kept it from holding may go
    if tree.find(*COUNTED) is not None or any(join.side for join in tree.find_all(exp.Join)):
        return True
    if any(_is_no_union_all(node) for node in tree.find_all(exp.SetOperation)):
        return True
    ctes: Ctes = {cte.alias.lower(): (cte.this, {}) for cte in tree.find_all(exp.CTE)}
    selects = [s for s in tree.find_all(exp.Select) if s.find_ancestor(exp.Exists) is None]
    return any(by_value(select, ctes) or not _holds_once(select, ctes) for select in selects)


def _holds_once(select: exp.Select, ctes: Ctes) -> bool:
    """Return whether rows hold once, with their values, if those they are made of do."""
    if any(contains_now(item) or item.find(exp.Query) for item in select.selects):
        return False
    return all(_one_interval(part, ctes) for part in _conjuncts(select))


def _conjuncts(select: exp.Select) -> Iterator[exp.Expr]:
    for condition in conditions(select):
        inside = condition.unnest()
        yield from inside.flatten() if isinstance(inside, exp.And) else [inside]


def _one_interval(part: exp.Expr, ctes: Ctes) -> bool:
    part = part.unnest()
    inside = part.this.unnest() if isinstance(part, exp.Not) else part
    if isinstance(inside, exp.Exists):
        query = inside.this
        # Of a CTE rows may go again: only what reads the sources themselves just grows.
        return (
            isinstance(query, exp.Select)
            and not contains_now(query)
            and is_plain(query, from_items(query), ctes)
        )
    if part.find(exp.Query) is not None:
        return False
    if not contains_now(part):
        return True
    return isinstance(part, ORDERED) and part.find(*SEVERAL) is None


def _is_no_union_all(node: exp.SetOperation) -> bool:
    return not isinstance(node, exp.Union) or bool(node.args.get("distinct"))
