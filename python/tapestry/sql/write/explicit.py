"""Parentheses wherever a text would be read as another tree, and literals as they were written."""

from __future__ import annotations

from sqlglot import exp

from tapestry.sql.copies import copied
from tapestry.sql.facts.precedence import ATOM, binds, is_torn

WRITTEN = "literal"
"""The metadata key of a CAST whose author wrote a suffix behind a whole number."""
SUFFIXES = {"L": "bigint", "S": "smallint", "Y": "tinyint"}


def put_parentheses(tree: exp.Expr) -> None:
    """Put parentheses, in place, around what an operator beside it would tear apart.

    >>> sum_ = exp.Add(this=exp.column("a"), expression=exp.column("b"))
    >>> tree = exp.Mul(this=exp.Neg(this=sum_), expression=sum_.copy())
    >>> put_parentheses(tree)
    >>> tree.sql("spark")
    '-(a + b) * (a + b)'
    """
    for node in [node for node in tree.walk() if is_torn(node)]:
        _wrap(node)


def write_literals(tree: exp.Expr) -> None:
    """Write, in place, literals as their author did: ``7L``, which is no CAST(7 AS BIGINT)."""
    for cast in list(tree.find_all(exp.Cast)):
        if cast.meta_get(WRITTEN) is not None:
            digits = int(cast.this.name)
            suffix = next(suffix for suffix, kind in SUFFIXES.items() if cast.is_type(kind))
            cast.replace(exp.Literal.number(f"{digits}{suffix}"))


def list_conditions(tree: exp.Query) -> exp.Query:
    """The conditions of QUALIFY as items of the select lists; a copy where there are any.

    For Spark the parser's library writes a derived table in its place, and reads the names of its
    items again, as if they were SQL: `date '2026-01-01'` would be a difference of three numbers.

    >>> from sqlglot import parse_one
    >>> tree = parse_one("select date '2026-01-01' from m qualify count(*) over () > 1")
    >>> list_conditions(tree).sql("spark")
    "SELECT CAST('2026-01-01' AS DATE), COUNT(*) OVER () > 1 AS _qualify FROM m"
    """
    if tree.find(exp.Qualify) is None:
        return tree
    tree = tree.copy()
    for clause in list(tree.find_all(exp.Qualify)):
        select = clause.parent
        assert isinstance(select, exp.Select)
        clause.pop()
        select.append("expressions", exp.alias_(clause.this, "_qualify"))
    return tree


def explicit(tree: exp.Expr, copy: bool = True) -> str:
    """The tree as text in which every operator stands in parentheses: nothing binds by rank.

    With ``copy=False`` the tree is used up.

    Two trees with one such text are one tree; and read by any grammar, the text is that tree.

    >>> from sqlglot import parse_one
    >>> explicit(parse_one("select -a * b + 7 > c and not d or e", dialect="spark"))
    'SELECT ((((((-a) * b) + 7) > c) AND (NOT d)) OR e)'
    """
    own = copied(tree) if copy else tree
    for node in list(own.find_all(exp.Paren)):
        if isinstance(node.parent, exp.Paren):
            node.replace(node.this)
    for bare in [node for node in own.walk() if _is_bare(node)]:
        _wrap(bare)
    write_literals(own)
    return own.sql("spark", copy=False, comments=False)


def _is_bare(node: exp.Expr) -> bool:
    if binds(node) == ATOM or isinstance(node.parent, exp.Paren | exp.Escape | exp.Interval):
        return False
    return not (isinstance(node, exp.Connector) and type(node.parent) is type(node))


def _wrap(node: exp.Expr) -> None:
    """Put the node itself, not a copy, in parentheses: those inside of it are still to come."""
    around = exp.Paren()
    node.replace(around)
    around.set("this", node)
