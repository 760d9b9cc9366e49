"""USING behind an outer join: the column so far is what SQL says, not the first table's.

    a FULL JOIN b USING (k) JOIN c USING (k)        COALESCE(a.k, b.k) = c.k
    a RIGHT JOIN b USING (k) JOIN c USING (k)       b.k = c.k

sqlglot writes ``a.k = c.k`` for both, which loses the rows of b that have no match in a.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from tapestry.errors import Refusal


def join_using(written: exp.Query, qualified: exp.Query) -> None:
    """Correct the ON that sqlglot wrote for each USING of the query, in place.

    Both trees have the same SELECTs with the same joins, in the same order.  Raises Refusal where
    they have not.
    """
    selects = [list(tree.find_all(exp.Select, bfs=False)) for tree in (written, qualified)]
    for number, before in enumerate(selects[0]):
        joins = before.args.get("joins") or []
        if not any(join.side in ("RIGHT", "FULL") and join.args.get("using") for join in joins):
            continue
        same = len(selects[0]) == len(selects[1])
        after = selects[1][number].args.get("joins") or [] if same else []
        if len(after) != len(joins):
            raise Refusal(
                "USING behind an outer join",
                before.sql("spark"),
                "write ON a.k = b.k",
                code="using-join",
            )
        _correct(joins, after)


def semi_join_using(
    select: exp.Select, join: exp.Join, before: Sequence[exp.Join]
) -> list[exp.Expr]:
    """The conditions of a semi or anti join with USING; ``before`` are the joins on its left.

    Raises Refusal for NATURAL, and where several relations on the left may have the column.

    >>> from sqlglot import parse_one
    >>> query = parse_one("select a from t left semi join u using (k)", dialect="spark")
    >>> [one.sql() for one in semi_join_using(query, query.args["joins"][0], [])]
    ['"t".k = "u".k']
    """
    from_ = select.args.get("from_")
    first = exp.Table() if from_ is None else from_.this
    left, right = first.alias_or_name, join.this.alias_or_name
    if join.method or before or not left or not right or first.args.get("joins"):
        raise Refusal(
            "USING or NATURAL in a semi or anti join that cannot be told from its text alone",
            join.sql("spark"),
            "write ON a.k = b.k",
            code="using-join",
        )
    return [
        exp.EQ(
            this=exp.Column(this=name.copy(), table=exp.to_identifier(left, quoted=True)),
            expression=exp.Column(this=name.copy(), table=exp.to_identifier(right, quoted=True)),
        )
        for name in join.args["using"]
    ]


def _correct(written: list[exp.Join], qualified: list[exp.Join]) -> None:
    so_far: dict[str, exp.Expr] = {}
    for before, after in zip(written, qualified, strict=True):
        conditions: list[exp.Expr] = []
        for column in before.args.get("using") or []:
            name = column.name.lower()
            left, right = _sides(after, name)
            left = so_far.get(name, left)
            conditions.append(exp.EQ(this=left.copy(), expression=right.copy()))
            so_far[name] = _merged(before.side, left, right)
        if conditions:
            after.set("on", exp.and_(*conditions, copy=False))


def _sides(join: exp.Join, name: str) -> tuple[exp.Expr, exp.Expr]:
    """Return the two sides of the comparison that sqlglot wrote for one column of USING."""
    alias = join.this.alias_or_name
    for equal in join.args["on"].find_all(exp.EQ):
        right = equal.expression
        if isinstance(right, exp.Column) and right.table == alias and right.name.lower() == name:
            return equal.this, right
    raise AssertionError(f"USING ({name}) was not written as ON {alias}.{name} = …")


def _merged(side: str, left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """Return the column after the join: of the side whose rows are all kept, or a COALESCE of
    both.
    """
    if side == "RIGHT":
        return right
    if side == "FULL":
        parts = left.expressions if isinstance(left, exp.Coalesce) else []
        first = left.this if isinstance(left, exp.Coalesce) else left
        return exp.Coalesce(this=first.copy(), expressions=[*(p.copy() for p in parts), right])
    return left
