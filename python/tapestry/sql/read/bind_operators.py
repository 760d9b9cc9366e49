"""Operators bind as they do in Spark's grammar; and whole numbers keep their suffix.

The parser takes ``&``, ``|``, ``^``, ``<<``, ``>>`` and ``||`` for operators of one precedence,
beneath ``+``. To Spark ``||`` is one of those of ``+``, then come the shifts, ``&``, ``^``, ``|``.
"""

from __future__ import annotations

from sqlglot import exp

from tapestry.sql.facts.precedence import binds
from tapestry.sql.read.bind_tokens import CALLED, SHIFTS
from tapestry.sql.write.explicit import SUFFIXES, WRITTEN

_TERMS = (exp.Add, exp.Sub, exp.DPipe)
_BITS = (exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor)
_SHIFTS = (exp.BitwiseLeftShift, exp.BitwiseRightShift)
_CALLS = {CALLED + name: kind for name, kind in zip(SHIFTS, _SHIFTS, strict=True)}
_CHAIN = (*_TERMS, *_BITS, *_SHIFTS)


def bind_operators(tree: exp.Expr) -> None:
    """Bind, in place, the operators of a tree as it was parsed; parentheses are nodes in it.

    >>> from sqlglot import parse_one
    >>> query = parse_one("select a | b & c, a || b + c, a + b << c", dialect="spark")
    >>> bind_operators(query)
    >>> [type(item.this).__name__ + type(item.expression).__name__ for item in query.selects]
    ['ColumnBitwiseAnd', 'DPipeColumn', 'AddColumn']
    """
    for number in list(tree.find_all(exp.Literal)):
        if not number.is_string and number.name[-1:] in SUFFIXES:
            _keep_suffix(number)
    for top in list(tree.find_all(*_CHAIN)):
        if not isinstance(top.parent, _CHAIN) and top.find(exp.DPipe, *_BITS, *_SHIFTS):
            parts = _parts(top)
            if len(parts) > 3:
                top.replace(_bound(parts))
    for call in list(tree.find_all(exp.Anonymous)):
        if call.name in _CALLS and len(call.expressions) == 2:
            left, right = call.expressions
            call.replace(_CALLS[call.name](this=left, expression=right))
        elif call.name in _CALLS:
            call.set("this", call.name.removeprefix(CALLED))


def _keep_suffix(number: exp.Literal) -> None:
    """``7L`` is a BIGINT; but Spark counts the digits of a literal only, beside a DECIMAL."""
    digits = int(number.name[:-1])
    suffix = next(one for one in SUFFIXES if number.name.endswith(one))
    value = exp.cast(exp.Literal.number(digits), SUFFIXES[suffix])
    value.meta[WRITTEN] = True
    number.replace(value)


def _parts(node: exp.Expr) -> list[exp.Expr]:
    """Operands and operators in the order of the text."""
    if not isinstance(node, _CHAIN):
        return [node]
    return [*_parts(node.this), node, *_parts(node.expression)]


def _bound(parts: list[exp.Expr]) -> exp.Expr:
    """The tree of operands and operators; of equal ones the first binds."""
    operands, operators = parts[::2], parts[1::2]
    if not operators:
        return operands[0]
    loosest = min(binds(one) for one in operators)
    last = max(n for n, one in enumerate(operators) if binds(one) == loosest)
    bound = operators[last].copy()
    bound.set("this", _bound(parts[: 2 * last + 1]))
    bound.set("expression", _bound(parts[2 * last + 2 :]))
    return bound
