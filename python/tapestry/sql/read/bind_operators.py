"""Binds operators as Spark's grammar does, and keeps the suffixes of whole numbers.

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
_SIDES = ("this", "expression")


def bind_operators(tree: exp.Expr) -> None:
    """Bind, in place, the operators of a tree as it was parsed; parentheses are nodes in it.

    >>> from sqlglot import parse_one
    >>> query = parse_one("select a | b & c, a || b + c, a + b << c", dialect="spark")
    >>> bind_operators(query)
    >>> [type(item.this).__name__ + type(item.expression).__name__ for item in query.selects]
    ['ColumnBitwiseAnd', 'DPipeColumn', 'AddColumn']
    """
    numbers: list[exp.Literal] = []
    chains: list[exp.Expr] = []
    calls: list[exp.Anonymous] = []
    for node in tree.walk():
        if isinstance(node, exp.Literal) and not node.is_string and node.name[-1:] in SUFFIXES:
            numbers.append(node)
        elif isinstance(node, _CHAIN) and not isinstance(node.parent, _CHAIN):
            chains.append(node)
        elif isinstance(node, exp.Anonymous) and node.name in _CALLS:
            calls.append(node)
    for number in numbers:
        _keep_suffix(number)
    for chain in chains:
        operands, operators = _parts(chain)
        if len(operators) > 1 and any(not isinstance(one, exp.Add | exp.Sub) for one in operators):
            chain.replace(_bound(operands, operators))
    for call in calls:
        if len(call.expressions) == 2:
            left, right = call.expressions
            call.replace(_CALLS[call.name](this=left, expression=right))
        else:
            call.set("this", call.name.removeprefix(CALLED))


def _keep_suffix(number: exp.Literal) -> None:
    """Make ``7L`` a BIGINT, but not beside a DECIMAL, where Spark counts the digits of a
    literal.
    """
    digits = int(number.name[:-1])
    suffix = next(one for one in SUFFIXES if number.name.endswith(one))
    value = exp.cast(exp.Literal.number(digits), SUFFIXES[suffix])
    value.meta[WRITTEN] = True
    number.replace(value)


def _parts(chain: exp.Expr) -> tuple[list[exp.Expr], list[exp.Expr]]:
    """The operands of a chain and the operators between them, in the order of the text."""
    operands: list[exp.Expr] = []
    operators: list[exp.Expr] = []
    around: list[exp.Expr] = []
    node: exp.Expr | None = chain
    while node is not None:
        while isinstance(node, _CHAIN):
            around.append(node)
            node = node.this
        operands.append(node)
        node = None
        if around:
            operators.append(around.pop())
            node = operators[-1].expression
    return operands, operators


def _bound(operands: list[exp.Expr], operators: list[exp.Expr]) -> exp.Expr:
    """The tree of operands and operators; of equal ones the first binds.

    An operator waits for what binds tighter behind it: each is looked at twice.
    """
    values, waiting = [operands[0]], list[exp.Expr]()

    def bind() -> None:
        operator, right, left = waiting.pop(), values.pop(), values.pop()
        more = {key: value for key, value in operator.args.items() if key not in _SIDES}
        values.append(type(operator)(this=left, expression=right, **more))

    for operator, operand in zip(operators, operands[1:], strict=True):
        while waiting and binds(waiting[-1]) >= binds(operator):
            bind()
        waiting.append(operator)
        values.append(operand)
    while waiting:
        bind()
    return values[0]
