"""Rewrites QUALIFY of a text without resolved names as WHERE over a derived table.

    SELECT *, row_number() OVER (…) AS rn FROM t QUALIFY rn = 1
    SELECT * FROM (SELECT *, row_number() OVER (…) AS rn FROM t) AS _t WHERE rn = 1

sqlglot lists ``rn`` twice where a star has it already.  A window that the select list does not name
becomes a column that the outer star leaves out.
"""

from __future__ import annotations

from sqlglot import exp

ALIAS = "_t"
_OUTSIDE = ("with_", "distinct", "order", "limit", "offset")


def qualify_as_where(tree: exp.Expr) -> exp.Expr:
    """The query without QUALIFY; the tree itself is changed.

    >>> from sqlglot import parse_one
    >>> text = "SELECT *, RANK() OVER (ORDER BY v) AS r FROM t QUALIFY r = 1 AND k > 2"
    >>> print(qualify_as_where(parse_one(text)).sql("spark"))
    SELECT * EXCEPT (_q1) FROM (SELECT *, RANK() OVER (ORDER BY v) AS r, k AS _q1 FROM t) AS _t \
WHERE r = 1 AND _q1 > 2
    """
    for select in reversed(list(tree.find_all(exp.Select))):
        qualify = select.args.get("qualify")
        if qualify is None or qualify.find(exp.Query) is not None:
            continue
        opened = _opened(select, qualify.this)
        if select is tree:
            tree = opened
        else:
            select.replace(opened)
    return tree


def _opened(select: exp.Select, condition: exp.Expr) -> exp.Select:
    inner = select.copy()
    aliases = {one.alias.lower() for one in select.selects if isinstance(one, exp.Alias)}
    hidden: list[exp.Expr] = []

    def named(node: exp.Expr) -> exp.Expr:
        bare = isinstance(node, exp.Column) and not node.table
        if bare and node.name.lower() in aliases:
            return node
        if node not in hidden:
            hidden.append(node.copy())
        return exp.column(f"_q{hidden.index(node) + 1}")

    holder = exp.Where(this=condition.copy())
    wanted = [
        node
        for node in holder.walk(prune=lambda one: isinstance(one, exp.Window | exp.Column))
        if isinstance(node, exp.Window | exp.Column)
    ]
    for node in wanted:
        node.replace(named(node))
    for place, value in enumerate(hidden, 1):
        inner.append("expressions", exp.alias_(value, f"_q{place}"))
    star = exp.Star()
    if hidden:
        star.set("except_", [exp.to_identifier(f"_q{n}") for n in range(1, len(hidden) + 1)])
    outer = exp.select(star)
    for clause in _OUTSIDE:
        outer.set(clause, inner.args.get(clause))
        inner.set(clause, None)
    if outer.args.get("limit") is None:
        outer.set("order", None)
    inner.set("qualify", None)
    outer = outer.from_(
        exp.Subquery(this=inner, alias=exp.TableAlias(this=exp.to_identifier(ALIAS)))
    )
    outer.set("where", holder)
    return outer
