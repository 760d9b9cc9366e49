"""Removes redundant parentheses in FROM, and writes out stars over joins."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from tapestry.errors import Refusal
from tapestry.sql.copies import copied
from tapestry.sql.facts.from_clause import encloses_relation, relations_of


def open_parentheses(tree: exp.Query) -> exp.Query:
    """The query with parentheses only around joins that stand on the right of another join.

    Sound: around one relation they change nothing but its name, the outer one hiding the inner one;
    and joins are read from left to right, with and without parentheses around the first of them.
    Around what is pivoted, and where a join is, they are those of a derived table.

    Raises Refusal where a join in parentheses has a name, or stands beside USING.

    >>> from sqlglot import parse_one
    >>> query = parse_one("select * from (m q join r on r.a = q.a) join ((u) join x on x.b) on u.c")
    >>> open_parentheses(query).sql()
    'SELECT q.*, r.*, u.*, x.* FROM m AS q JOIN r ON r.a = q.a JOIN (u JOIN x ON x.b) ON u.c'
    """
    tree = copied(tree)
    for node in reversed(list(tree.find_all(exp.Subquery))):
        if encloses_relation(node):
            _open(node)
    for select in tree.find_all(exp.Select):
        relations = list(relations_of(select))
        if any(relation.args.get("joins") for relation in relations):
            _refuse_using(select, relations)
            if not any(join.args.get("using") for join in select.find_all(exp.Join)):
                list_relations(select, relations, _nameless)
    return tree


def _open(node: exp.Subquery) -> None:
    inner, name, around = node.this, node.args.get("alias"), node.parent
    joins, pivots = inner.args.get("joins") or [], node.args.get("pivots")
    if inner.args.get("pivots") or (pivots and joins):
        body = exp.select("*").from_(copied(inner), copy=False)
        body.args["from_"].this.set("joins", None)
        body.set("joins", [copied(join) for join in joins])
        node.set("this", body)
        return
    if joins and name is not None:
        raise Refusal(
            "a join in parentheses has a name",
            node.sql("spark"),
            f"write (SELECT ... FROM ...) AS {name.name}, or leave the name out",
            code="named-join",
        )
    if name is not None:
        inner.set("alias", name)
    if pivots:
        inner.set("pivots", pivots)
    every = [*joins, *(node.args.get("joins") or [])]
    if isinstance(around, exp.From):
        select = around.parent
        assert isinstance(select, exp.Select)
        select.set("joins", [*every, *(select.args.get("joins") or [])])
        every = []
    inner.set("joins", every or None)
    if joins and isinstance(around, exp.Join):
        node.set("joins", None)
    else:
        node.replace(inner)


def _refuse_using(select: exp.Select, relations: list[exp.Expr]) -> None:
    """Raise Refusal for USING beside parentheses: its columns depend on the joins before it."""
    if not any(encloses_relation(r.parent) for r in relations if r.parent is not None):
        return
    for join in select.find_all(exp.Join):
        if join.args.get("using") and join.find_ancestor(exp.Select) is select:
            raise Refusal(
                "USING stands beside a join in parentheses",
                join.sql("spark"),
                "write ON a.k = b.k",
                code="using-join",
            )


def _nameless(relation: exp.Expr) -> Refusal:
    return Refusal(
        "a star over a subquery without a name, beside joins in parentheses",
        relation.sql("spark"),
        "give the subquery a name with AS, or list the columns",
        code="odd-star",
    )


def list_relations(
    select: exp.Select,
    relations: Sequence[exp.Expr],
    nameless: Callable[[exp.Expr], Refusal],
) -> None:
    """``*`` as ``a.*, b.*, c.*``: its columns come in the order in which FROM is written.

    Raises what ``nameless`` makes of a relation without a name.
    """
    items: list[exp.Expr] = []
    for item in select.expressions:
        if not isinstance(item, exp.Star):
            items.append(item)
            continue
        for relation in relations:
            if not relation.alias_or_name:
                raise nameless(relation)
            name = exp.to_identifier(relation.alias_or_name)
            items.append(exp.Column(this=copied(item), table=name))
    select.set("expressions", items)
