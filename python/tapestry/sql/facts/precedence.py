"""Precedence of operators: in Spark, and in the parser where it differs."""

from __future__ import annotations

from sqlglot import exp

ATOM = 100
_COMPARISON = 40
_LEVELS: dict[type[exp.Expr], int] = {
    exp.Or: 10,
    exp.And: 20,
    exp.Not: 30,
    **dict.fromkeys(
        (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ),
        _COMPARISON,
    ),
    **dict.fromkeys((exp.Is, exp.In, exp.Between, exp.Like, exp.ILike, exp.Escape), _COMPARISON),
    exp.RegexpLike: _COMPARISON,
    exp.BitwiseOr: 51,
    exp.BitwiseXor: 52,
    exp.BitwiseAnd: 53,
    exp.BitwiseLeftShift: 54,
    exp.BitwiseRightShift: 54,
    exp.Add: 60,
    exp.Sub: 60,
    exp.DPipe: 60,
    exp.Mul: 70,
    exp.Div: 70,
    exp.IntDiv: 70,
    exp.Mod: 70,
    exp.Neg: 80,
    exp.BitwiseNot: 80,
}
"""By Spark's grammar; more binds tighter. What is not here has delimiters of its own."""
_BITS = (exp.BitwiseOr, exp.BitwiseXor, exp.BitwiseAnd, exp.DPipe)
_LEFT_TO_RIGHT = (*_BITS, exp.BitwiseLeftShift, exp.BitwiseRightShift)
_AS_PARSED: dict[type[exp.Expr], int] = {
    **dict.fromkeys(_LEFT_TO_RIGHT, 50),
    **dict.fromkeys((exp.LT, exp.LTE, exp.GT, exp.GTE), 41),
    **dict.fromkeys((exp.Is, exp.In, exp.Between, exp.Like, exp.ILike, exp.Escape), 42),
    exp.RegexpLike: 42,
}
"""Precedences that differ in the parser: a test of a value binds tighter than a comparison."""


def binds(node: exp.Expr) -> int:
    """Return the precedence of a node's operator in Spark."""
    return _LEVELS.get(type(node), ATOM)


def binds_as_parsed(node: exp.Expr) -> int:
    """Return the precedence of a node's operator in the parser."""
    return _AS_PARSED.get(type(node), binds(node))


def is_torn(node: exp.Expr) -> bool:
    """Return whether a text without parentheses around the node would be read as another tree.

    >>> inner = exp.Add(this=exp.column("a"), expression=exp.column("b"))
    >>> outer = exp.Mul(this=inner, expression=exp.column("c"))
    >>> is_torn(inner), is_torn(outer)
    (True, False)
    """
    around = node.parent
    if around is None or binds(node) == ATOM:
        return False
    if isinstance(around, exp.Bracket | exp.Dot | exp.Collate):
        return node.arg_key == "this"
    if binds(around) == ATOM or (isinstance(around, exp.Connector) and type(around) is type(node)):
        return False
    if isinstance(around, exp.In) and node.arg_key != "this":
        return False
    if isinstance(around, exp.Not | exp.Neg | exp.BitwiseNot):
        return any(level(node) < level(around) for level in (binds, binds_as_parsed))
    behind = node.arg_key != "this"
    return any(level(node) < level(around) + behind for level in (binds, binds_as_parsed))
