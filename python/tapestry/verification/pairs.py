"""Answers beside new rows: one row for each pair of an answer and the new row that delivers it.

An answer holds at many of the instants that are looked at.  What is asked of these is their first,
and whether ``_matched_at`` is among them: a set of bits, one for each instant.  So both kinds of
rows are put into one relation and grouped by key and values, without a join:

    missing   no new row delivers it, and the first instant is no older than the runs before
    early     the first instant lies before ``_matched_at``
    absent    ``_matched_at`` is one of the instants, and its bit is not set

Of copies of a new row the earliest stands for all: that an answer comes twice is seen elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from tapestry.names import KEY, MATCHED_AT
from tapestry.verification.chosen import Rows
from tapestry.verification.definition import Definition
from tapestry.verification.from_clause import AT, INSTANTS

BITS = 62
"""Of a number in every engine that are no sign."""
Ctes = list[tuple[str, str]]


def instants(definition: Definition, chosen: Iterable[datetime], start: datetime) -> Ctes:
    """The CTEs ``numbered``, instants from ``start`` on with their bits, and ``instants``."""
    values = ", ".join(
        f"({definition.instant(s)}, {place // BITS}, {1 << place % BITS})"
        for place, s in enumerate(sorted(set(chosen)))
    )
    # None is left where all of the window lies before the begin.
    bits = (
        f"SELECT * FROM (VALUES {values}) AS given({AT}, _t_word, _t_bit)"
        f" WHERE {AT} >= {definition.instant(start)}"
    )
    return [("numbered", bits), (INSTANTS, f"SELECT {AT} FROM numbered")]


def numbered(relation: str) -> Ctes:
    """The CTE ``numbered`` of instants that only the engine knows, each of them once."""
    places = f"SELECT {AT}, ROW_NUMBER() OVER (ORDER BY {AT}) - 1 AS _t_place FROM {relation}"
    bits = (
        f"SELECT {AT}, CAST(FLOOR(_t_place / {BITS}) AS INT) AS _t_word,"
        f" CAST(POWER(2, _t_place % {BITS}) AS BIGINT) AS _t_bit FROM ({places}) AS placed"
    )
    return [("numbered", bits)]


def judged(
    rows: Rows, definition: Definition, names: Sequence[str], most: int, only_new: bool = False
) -> Ctes:
    """From ``answers``, ``numbered`` and ``fresh`` to ``judged``: pairs, each with what is wrong.

    ``most`` is how many instants are numbered at most; ``only_new`` leaves out what no new row
    delivers.  The columns of ``judged`` are the values, their key, ``_matched_at``, ``_t_at`` (the
    first instant at which it is an answer), and ``_t_reason``, NULL where nothing is wrong.
    """
    words = range(-(-most // BITS))
    identity = ", ".join([KEY, *names])
    answers, new = (", ".join(f"{alias}.{name}" for name in [KEY, *names]) for alias in "an")
    all_rows = (
        f"SELECT {new}, n.{MATCHED_AT}, NULL AS {AT}, NULL AS _t_word, NULL AS _t_bit"
        f" FROM fresh AS n UNION ALL SELECT {answers}, NULL, a.{AT}, i._t_word, i._t_bit"
        f" FROM answers AS a JOIN numbered AS i ON i.{AT} = a.{AT}"
    )
    bits = [f"BIT_OR(CASE WHEN _t_word = {w} THEN _t_bit END) AS _t_held{w}" for w in words]
    paired = (
        f"SELECT {identity}, MIN({MATCHED_AT}) AS {MATCHED_AT}, MIN({AT}) AS _t_at,"
        f" {', '.join(bits)} FROM ({all_rows}) AS all_rows GROUP BY {identity}"
    )
    reasons = _reasons(rows, definition, words)
    if only_new:
        reasons += f" WHERE p.{MATCHED_AT} IS NOT NULL"
    return [("paired", paired), ("judged", reasons)]


def _reasons(rows: Rows, definition: Definition, words: Iterable[int]) -> str:
    old = f"p._t_at <= {definition.instant(rows.last)}" if rows.last is not None else "FALSE"
    own = " ".join(f"WHEN {word} THEN p._t_held{word}" for word in words)
    present = f"COALESCE((CASE i._t_word {own} END & i._t_bit) <> 0, FALSE)"
    reason = (
        f"CASE WHEN p.{MATCHED_AT} IS NULL AND NOT ({old}) THEN 'missing'"
        f" WHEN p._t_at < p.{MATCHED_AT} THEN 'early'"
        f" WHEN i.{AT} IS NOT NULL AND NOT {present} THEN 'absent' END"
    )
    return (
        f"SELECT p.*, {reason} AS _t_reason FROM paired AS p"
        f" LEFT JOIN numbered AS i ON i.{AT} = p.{MATCHED_AT}"
    )
