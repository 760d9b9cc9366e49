"""Can an answer hold, cease to hold, and hold again?

Not where its derivation holds under an AND of conditions of which each holds over one interval of
time: those without the clock and without subqueries never change; a comparison with the clock
changes once, or is an equality; rows only arrive, so that EXISTS (a join without the clock) comes
to hold and stays, and NOT EXISTS ceases to and never comes back.  Then an answer of two instants is
one at every instant between them.  What is not of this kind is said to hold again.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from tapestry.sql.timing import contains_now
from tapestry.verification.scopes import by_value

ORDERED = (exp.LT, exp.LTE, exp.GT, exp.GTE, exp.EQ)
SEVERAL = (exp.Or, exp.Not, exp.NEQ, exp.Case, exp.If, exp.In, exp.Between, exp.NullSafeEQ)
"""What may make several intervals of one comparison, or what nobody has thought about."""
COUNTED = (exp.AggFunc, exp.Having, exp.SetOperation, exp.Limit, exp.Offset)


def may_hold_again(tree: exp.Expr) -> bool:
    """Can it, for all that is known of a resolved query?"""
    if any(_is_no_union_all(node) for node in tree.find_all(exp.SetOperation)):
        return True
    if any(join.side for join in tree.find_all(exp.Join)):
        return True
    selects = [s for s in tree.find_all(exp.Select) if s.find_ancestor(exp.Exists) is None]
    if any(by_value(select) for select in selects):
        return True
    return any(not _holds_once(part) for select in selects for part in _parts(select))


def _parts(select: exp.Select) -> Iterator[exp.Expr]:
    """What decides whether and with which values a derivation is an answer."""
    where = select.args.get("where")
    joins = select.args.get("joins") or []
    for condition in [where.this if where else None, *(join.args.get("on") for join in joins)]:
        if condition is not None:
            inside = condition.unnest()
            yield from inside.flatten() if isinstance(inside, exp.And) else [inside]
    for other in (*select.selects, select.args.get("having"), select.args.get("qualify")):
        if other is not None and (contains_now(other) or other.find(exp.Query) is not None):
            yield exp.Not(this=other.copy())  # a value that changes, or a condition on rows


def _holds_once(part: exp.Expr) -> bool:
    part = part.unnest()
    inside = part.this.unnest() if isinstance(part, exp.Not) else part
    if isinstance(inside, exp.Exists):
        query = inside.this
        return (
            isinstance(query, exp.Select)
            and not contains_now(query)
            and query.find(*COUNTED) is None
            and not any(join.side for join in query.find_all(exp.Join))
            and sum(1 for _ in query.find_all(exp.Query)) == 1
        )
    if part.find(exp.Query) is not None:
        return False
    if not contains_now(part):
        return True
    return isinstance(part, ORDERED) and part.find(*SEVERAL) is None


def _is_no_union_all(node: exp.SetOperation) -> bool:
    return not isinstance(node, exp.Union) or bool(node.args.get("distinct"))
