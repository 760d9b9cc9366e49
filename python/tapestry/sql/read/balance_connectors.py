"""Write long chains of AND and of OR as balanced trees: a thousand of them are ten levels deep.

A parser makes ``a OR b OR c`` a tree as deep as the chain is long, and whoever looks up from each
of its columns takes a time that grows with the square.  Sound: AND and OR are associative in
three-valued logic, and the order of the operands, and so the text, stays.
"""

from __future__ import annotations

from sqlglot import exp

from tapestry.sql.copies import copied

CHAIN = 8
"""Shorter chains stay as they are."""


def balance_connectors(tree: exp.Query) -> exp.Query:
    """A copy of the query whose chains of AND and of OR are as flat as they can be.

    >>> from sqlglot import parse_one
    >>> tree = parse_one("select 1 from t where " + " or ".join(f"k = {n}" for n in range(64)))
    >>> flat = balance_connectors(tree)
    >>> flat.sql() == tree.sql(), max(n.depth for n in flat.walk()) < 12
    (True, True)
    """
    copy = copied(tree)
    for node in list(copy.find_all(exp.And, exp.Or)):
        if type(node.parent) is type(node) or type(node.this) is not type(node):
            continue  # not the top of a chain
        operands = _operands(node)
        if len(operands) >= CHAIN:
            balanced = _balanced(operands, type(node))
            node.set("this", balanced.this)
            node.set("expression", balanced.expression)
    return copy


def _operands(node: exp.Expr) -> list[exp.Expr]:
    """The operands of a chain, from left to right."""
    kind = type(node)
    operands: list[exp.Expr] = []
    left = [node]
    while left:
        one = left.pop()
        if type(one) is kind:
            left += [one.args["expression"], one.args["this"]]
        else:
            operands.append(one)
    return operands


def _balanced(operands: list[exp.Expr], kind: type[exp.Expr]) -> exp.Expr:
    if len(operands) == 1:
        return operands[0]
    half = len(operands) // 2
    left, right = _balanced(operands[:half], kind), _balanced(operands[half:], kind)
    return kind(this=left, expression=right)
