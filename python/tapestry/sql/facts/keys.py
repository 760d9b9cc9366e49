"""The text by which an identity of an answer is written: ``_key`` (semantics, section 2,
"Identity").

Vocabulary only, shared by the rewriting, whose rows carry it, and the verification, whose static
answers do: each finds out by itself *what* identifies an answer.

    derivation            arm|part|part…     one part a relation of FROM, in the order written
      part of a table       its row id
      part of a null side   -
      part of a derived     the key that its row has in it, with / for |
                            (of one that counts by value: arm and the md5 of its values)
    value                 arm

An arm's number says how many parts follow, so no two derivations are written alike.

Where answers are verified, the row id of a source that grows ends in its *stamp*: ``@`` and what
its arrival column says, in microseconds since 1970, in a fixed width so that finding it is cheap.
So a key tells by itself whose turn it is.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from tapestry.sql.copies import copied
from tapestry.sql.work import size, spend

NOTHING = "-"
"""The part of a relation that has no row: the null side of an outer join."""
PART, INNER, STAMP = "|", "/", "@"
WIDTH = 18
"""The width of a stamp: no number of microseconds from 0001-01-01 to 9999-12-31 is wider."""


def of_row(row_id: exp.Expr) -> exp.Expr:
    """Return the part of a table's row, which exists."""
    return exp.cast(copied(row_id), "text")


def perhaps(part: exp.Expr) -> exp.Expr:
    """Return the part of a relation that may have no row; its columns and the part are NULL
    then.
    """
    return exp.Coalesce(this=copied(part), expressions=[nothing()])


def nothing() -> exp.Expr:
    """Return the part of a relation without a row."""
    return exp.Literal.string(NOTHING)


def of_values(values: Sequence[exp.Expr]) -> exp.Expr:
    """Return the part of a row that counts by value; NULL differs from every text."""
    parts = []
    for value in values:
        spend(8 + 3 * size(value), "what identifies an answer")
        text = exp.cast(copied(value), "text")
        length = exp.cast(exp.Length(this=copied(text)), "text")
        written = _concat([length, exp.Literal.string(":"), text])
        parts.append(exp.Coalesce(this=written, expressions=[nothing()]))
    return exp.MD5(this=_concat(parts))


def of_arm(number: int, parts: Sequence[exp.Expr]) -> exp.Expr:
    """Return the key of an answer in the ``number``-th arm of a UNION ALL (1 if there is none)."""
    pieces: list[exp.Expr] = [exp.Literal.string(str(number))]
    for part in parts:
        spend(size(part), "what identifies an answer")
        pieces += [exp.Literal.string(PART), copied(part)]
    return _concat(pieces)


def nested(key: exp.Expr) -> exp.Expr:
    """Return the part of a row of a derived table, given the row's own key."""
    spend(2 + size(key), "what identifies an answer")
    pair = [exp.Literal.string(PART), exp.Literal.string(INNER)]
    return exp.Anonymous(this="REPLACE", expressions=[copied(key), *pair])


def stamped(row_id: str, micros: str) -> str:
    """Return SQL for a row id with its stamp; NULL for a row that never arrives."""
    return f"({row_id} || '{STAMP}' || LPAD(CAST({micros} AS STRING), {WIDTH}, ' '))"


def first_stamp(key: str) -> str:
    """Return SQL for the first stamp in a key, NULL if there is none.

    It is that of the first relation of FROM, however many derived tables deep, if that has one.
    """
    begin = f"NULLIF(INSTR({key}, '{STAMP}'), 0) + 1"
    return f"TRY_CAST(SUBSTR({key}, {begin}, {WIDTH}) AS BIGINT)"


def _concat(pieces: Sequence[exp.Expr]) -> exp.Expr:
    # `||` is NULL where a piece is, in every dialect; concat() is not.
    text = pieces[0]
    for piece in pieces[1:]:
        text = exp.DPipe(this=text, expression=piece, safe=True)
    wrapped = exp.Paren(this=text) if isinstance(text, exp.DPipe) else text
    wrapped.type = exp.DataType.build("text")
    return wrapped
