"""Refuses clauses that no pass reads, and text that two parsers read differently.

A parser takes more than Spark does, and a tree has places for every dialect's clauses. What no pass
looks at would be left out of the rewritten query without a word, so every place must be named here.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import Token, TokenType, exp
from sqlglot.errors import ErrorLevel, UnsupportedError

from tapestry.errors import Refusal
from tapestry.sql.read.refuse_unsupported import UPSTREAM
from tapestry.sql.write.explicit import list_conditions

_QUERY = frozenset({"this", "with_", "order", "limit", "offset"})
_READ: dict[type[exp.Expr], frozenset[str]] = {
    exp.Select: _QUERY
    | {"distinct", "expressions", "from_", "joins", "where", "group", "having"}
    | {"qualify", "windows", "sort", "cluster", "distribute", "laterals"},
    exp.SetOperation: _QUERY | {"expression", "distinct", "by_name"},
    exp.Subquery: _QUERY | {"alias", "joins", "pivots"},
    exp.Table: frozenset({"this", "db", "catalog", "alias", "joins", "pivots"}),
    exp.Lateral: frozenset({"this", "view", "outer", "alias", "ordinality"}),
    exp.TableAlias: frozenset({"this", "columns"}),
    exp.Join: frozenset({"this", "on", "using", "side", "kind", "method", "hint"}),
    exp.With: frozenset({"expressions", "recursive"}),
    exp.CTE: frozenset({"this", "alias"}),
    exp.Distinct: frozenset({"expressions"}),
    exp.Group: frozenset({"expressions", "all", "grouping_sets", "cube", "rollup"}),
    exp.Star: frozenset({"except_"}),
    exp.Column: frozenset({"this", "table", "db", "catalog"}),
    exp.In: frozenset({"this", "expressions", "query"}),
}
"""The places of a query's own nodes that some pass reads (or refuses, with words of its own)."""

_JOINS = frozenset(
    {
        *(("", kind) for kind in ("", "INNER", "CROSS", "SEMI", "ANTI")),
        *((side, kind) for side in ("LEFT", "RIGHT", "FULL") for kind in ("", "OUTER")),
        *(("LEFT", kind) for kind in ("SEMI", "ANTI")),
    }
)
INSTEAD = {
    "version": "leave it out: each run reads the versions that belong to its window",
    "on": "write DISTINCT alone, or NOT EXISTS a row that comes before this one",
}
"""Place in the tree of a clause that no pass reads -> the hint about its replacement."""
_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ)
_LATER = frozenset(
    {TokenType.LT, TokenType.LTE, TokenType.GT, TokenType.GTE, TokenType.IN, TokenType.BETWEEN}
    | {TokenType.LIKE, TokenType.ILIKE, TokenType.RLIKE, TokenType.NOT}
)
"""Tokens that the parser, but not Spark, takes for a part of the right side of ``<=>``."""
_ENDS = frozenset(
    {TokenType.AND, TokenType.OR, TokenType.COMMA, TokenType.ALIAS, TokenType.SEMICOLON}
    | {TokenType.THEN, TokenType.WHEN, TokenType.ELSE, TokenType.END, TokenType.ARROW}
    | {TokenType.SELECT, TokenType.FROM, TokenType.WHERE, TokenType.GROUP_BY, TokenType.HAVING}
    | {TokenType.ORDER_BY, TokenType.LIMIT, TokenType.JOIN, TokenType.ON, TokenType.LEFT}
    | {TokenType.RIGHT, TokenType.FULL, TokenType.INNER, TokenType.CROSS, TokenType.ANTI}
    | {TokenType.SEMI, TokenType.UNION, TokenType.INTERSECT, TokenType.EXCEPT, TokenType.EXISTS}
)
"""Behind these no condition goes on."""
_OPEN = (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE)
_CLOSE = (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE)
_TESTS = (exp.In, exp.Between, exp.Like, exp.ILike, exp.RegexpLike, exp.Escape, exp.Not)


def refuse_unread(tree: exp.Query) -> None:
    """Raise Refusal for a clause that no pass reads, and for comparisons without parentheses.

    >>> from sqlglot import parse_one
    >>> refuse_unread(parse_one("select a from t version as of 3", dialect="spark"))
    Traceback (most recent call last):
    tapestry.errors.Refusal: VERSION of a table is not supported [unsupported-clause]
      in: t VERSION AS OF 3
      do: leave it out: each run reads the versions that belong to its window
    """
    for node in tree.walk():
        for kind, read in _READ.items():
            if isinstance(node, kind):
                _refuse_clauses(node, kind, read)
        if isinstance(node, exp.Join):
            _refuse_join(node)
        elif isinstance(node, _COMPARISONS):
            _refuse_chain(node)


def refuse_second_comparison(tokens: Sequence[Token]) -> None:
    """Raise Refusal for ``a <=> b > c``: ``(a <=> b) > c`` to Spark, ``a <=> (b > c)`` in the tree.

    There it cannot be told from what the author put in parentheses.
    """
    begun = [False]
    for token in tokens:
        if token.token_type in _OPEN:
            begun.append(False)
        elif token.token_type in _CLOSE:
            begun = begun[:-1] or [False]
        elif token.token_type == TokenType.NULLSAFE_EQ:
            begun[-1] = True
        elif token.token_type in _ENDS:
            begun[-1] = False
        elif begun[-1] and token.token_type in _LATER:
            raise Refusal(
                "two comparisons in a row can be read in two ways",
                f"<=> … {token.text}",
                "put one of them in parentheses",
                code="ambiguous",
            )


def refuse_unwritten(tree: exp.Query) -> None:
    """Raise Refusal for parts of the tree that its text in Spark's dialect would lack."""
    try:
        list_conditions(tree).sql("spark", unsupported_level=ErrorLevel.RAISE)
    except UnsupportedError as error:
        raise Refusal(
            "a part of the SQL would get lost",
            str(error),
            UPSTREAM,
            code="unread",
        ) from error


def _refuse_clauses(node: exp.Expr, kind: type[exp.Expr], read: frozenset[str]) -> None:
    for place, value in node.args.items():
        if place not in read and value not in (None, False, "", []):
            what = place.strip("_").replace("_", " ").upper()
            raise Refusal(
                f"{what} of a {kind.__name__.lower()} is not supported",
                _text(node),
                INSTEAD.get(place, "write the query without it"),
                code="unsupported-clause",
            )


def _refuse_join(node: exp.Join) -> None:
    method = node.method.upper()
    if (node.side.upper(), node.kind.upper()) not in _JOINS or method not in ("", "NATURAL"):
        words = " ".join(filter(None, (method, node.side, node.kind)))
        raise Refusal(
            f"{words.upper()} JOIN",
            _text(node),
            "write INNER, CROSS, LEFT, RIGHT or FULL JOIN",
            code="unsupported-join",
        )


def _refuse_chain(node: exp.Expr) -> None:
    """Raise Refusal for ``a = b IN (1)``: ``(a = b) IN (1)`` to Spark, else ``a = (b IN (1))``."""
    left, right = node.this, node.expression
    for side in (left, right):
        if isinstance(side, exp.Exists) and isinstance(side.this, exp.Query):
            raise Refusal(
                "EXISTS stands in a comparison without parentheses, which Spark cannot read",
                _text(node),
                f"write ({_text(side)})",
                code="ambiguous",
            )
    if isinstance(left, _TESTS) or isinstance(right, (*_TESTS, *_COMPARISONS)):
        raise Refusal(
            "two comparisons in a row can be read in two ways",
            _text(node),
            "put one of them in parentheses",
            code="ambiguous",
        )


def _text(node: exp.Expr) -> str:
    return node.sql("spark", unsupported_level=ErrorLevel.IGNORE)
