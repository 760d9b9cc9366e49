"""Put the text of the CTEs of subqueries in the place of their names; those of the query stay.

sqlglot writes all CTEs of a text at its top, for not every engine takes them where they are. There
a table that has the name of one would be read as that CTE, a second CTE of the name would be an
error, and a reference to the query around would mean nothing. Sound because a CTE is by definition
its text: what is not the same twice is refused.
"""

from __future__ import annotations

from sqlglot import exp

from tapestry.errors import Refusal
from tapestry.sql.facts.from_clause import relations_of
from tapestry.sql.work import NODE, size, spend

MOST = 2_000
"""So many uses of such CTEs are written out."""
_CTE = "the CTE that it names"


def cte_of(table: exp.Table) -> exp.CTE | None:
    """Return the CTE that a name in FROM means: one is visible to those after it and its query."""
    node: exp.Expr | None = None if table.db else table
    while node is not None:
        found: list[exp.Expr] = []
        if isinstance(node, exp.CTE):
            with_ = node.parent
            assert with_ is not None
            found = with_.expressions[: node.index]
            node = with_.parent
        elif node.args.get("with_") is not None:
            found = node.args["with_"].expressions
        for cte in reversed(found):
            if cte.alias.lower() == table.name.lower():
                assert isinstance(cte, exp.CTE)
                return cte
        node = None if node is None else node.parent
    return None


def inline_inner_ctes(tree: exp.Query) -> exp.Query:
    """The query without WITH in its subqueries; the tree itself is changed.

    >>> from sqlglot import parse_one
    >>> text = "SELECT a FROM t WHERE EXISTS(WITH t AS (SELECT a FROM u) SELECT a FROM t)"
    >>> inline_inner_ctes(parse_one(text, dialect="spark")).sql("spark")
    'SELECT a FROM t WHERE EXISTS(SELECT a FROM (SELECT a FROM u) AS t)'
    """
    inner = [with_ for with_ in tree.find_all(exp.With) if with_.parent is not tree]
    if not inner:
        return tree
    bodies: list[exp.CTE] = []
    for with_ in inner:
        bodies += with_.expressions
    places = {id(cte): number for number, cte in enumerate(bodies)}
    # All names are looked up before anything moves: what they mean depends on where they stand.
    for table in tree.find_all(exp.Table):
        cte = cte_of(table)
        if id(cte) in places:
            table.meta[_CTE] = places[id(cte)]
    left, uses = MOST, _outside(tree, tree)
    while uses:
        use = uses.pop()
        if _CTE not in use.meta:
            continue
        left -= 1
        if not left:
            raise Refusal(
                f"the CTEs of subqueries are used more than {MOST} times, one in another",
                tree.sql("spark"),
                "write them as models",
                code="too-many-ctes",
            )
        cte = bodies[use.meta[_CTE]]
        spend(NODE * size(cte.this), "CTEs of subqueries where they are used")
        _refuse_captured(cte, use)
        columns = _columns(use) or _columns(cte)
        alias = exp.TableAlias(
            this=exp.to_identifier(use.alias or use.name),
            columns=[column.copy() for column in columns],
        )
        behind = {clause: use.args.get(clause) for clause in ("joins", "pivots")}
        body = exp.Subquery(this=cte.this.copy(), alias=alias, **behind)
        use.replace(body)
        uses += _outside(body, tree)
    for with_ in [one for one in tree.find_all(exp.With) if one.parent is not tree]:
        with_.pop()
    return tree


def _refuse_captured(cte: exp.CTE, use: exp.Table) -> None:
    """Raise Refusal where a relation near its use has the name of one of the query around it."""
    relations = (exp.Table, exp.Subquery)
    own = {one.alias_or_name.lower() for one in cte.this.find_all(*relations)}
    around = {column.table.lower() for column in cte.this.find_all(exp.Column)} - own - {""}
    if not around or cte.parent is None:
        return
    node, owner = use.parent_select, cte.parent.parent
    while node is not None:
        near = {one.alias_or_name.lower() for one in relations_of(node)} & around
        if near:
            raise Refusal(
                f"a CTE refers to {min(near)} of the query around it, and is used beside another",
                cte.sql("spark"),
                "give the two different aliases",
                code="correlated",
            )
        if node is owner:
            return
        node = node.parent_select


def _outside(part: exp.Expr, tree: exp.Query) -> list[exp.Table]:
    """Return the tables of a part of the tree outside the WITH of subqueries."""

    def is_inner(node: exp.Expr) -> bool:
        return isinstance(node, exp.With) and node.parent is not tree

    return [node for node in part.walk(prune=is_inner) if isinstance(node, exp.Table)]


def _columns(node: exp.Expr) -> list[exp.Expr]:
    alias = node.args.get("alias")
    return list(alias.columns) if alias is not None else []
