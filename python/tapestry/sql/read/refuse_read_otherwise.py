"""Refuse a query whose text, as it would be written again, is read as another query.

A tree is written by one part of the parser's library and was read by another one, and nothing makes
them agree. All that is computed and all that is checked comes from the tree; so it has to be the
tree of its own text. What Spark's grammar has otherwise is mended before (``bind_tokens``,
``bind_operators``), and compared with Spark by ``tests/spark/test_expressions_as_spark.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import takewhile

from sqlglot import exp

from tapestry.errors import Refusal
from tapestry.sql.copies import copied
from tapestry.sql.work import unbounded
from tapestry.sql.write.explicit import explicit, list_conditions, put_parentheses, write_literals

_SHOWN = 60


def refuse_read_otherwise(tree: exp.Query, read: Callable[[str], exp.Query]) -> None:
    """Raise Refusal where ``read`` makes another tree of the text that is written of this one."""
    tree = list_conditions(tree)
    copy = copied(tree)
    put_parentheses(copy)
    write_literals(copy)
    written = copy.sql("spark", copy=False)
    with unbounded():  # the text was paid for
        try:
            again = explicit(read(written), copy=False)
        except Refusal as refusal:
            raise _refusal(written, str(refusal)) from refusal
    once = explicit(tree)
    if once != again:
        raise _refusal(*_differing(once, again))


def _refusal(once: str, again: str) -> Refusal:
    return Refusal(
        "a part of the SQL would be written as something else",
        f"{once}  would be read as  {again}",
        "put parentheses around its operators, or write the piece shown in simpler SQL",
        code="written-otherwise",
    )


def _differing(one: str, two: str) -> tuple[str, str]:
    """Return the places where two texts begin to differ."""
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, two, strict=False)))
    begin = max(0, same - _SHOWN)
    return one[begin : same + _SHOWN], two[begin : same + _SHOWN]
