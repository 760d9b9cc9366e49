"""Pairs answers with the new rows that deliver them, one row for each pair.

An answer holds at many of the instants that are looked at.  What is asked of these is their first,
and whether ``_matched_at`` is among them: a set of bits, one for each instant.  So both kinds of
rows are put into one relation and grouped by key and values, without a join:

    missing   no new row delivers it, and all of its instants are newer than the runs before
    early     the first instant lies before ``_matched_at``
    absent    ``_matched_at`` is one of the instants, and its bit is not set

Of copies of a new row the earliest stands for all: that an answer comes twice is seen elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from tapestry.names import KEY, MATCHED_AT
from tapestry.verification.chosen_rows import RunRows
from tapestry.verification.definition import Definition
from tapestry.verification.from_clause import AT, INSTANTS

BITS = 62
"""The number of bits, besides the sign, that a number has in every engine."""
Ctes = list[tuple[str, str]]


def instants(definition: Definition, rows: RunRows, chosen: Iterable[datetime]) -> Ctes:
    """The CTEs ``numbered``, the instants that count with their bits, and ``instants``.

    ``_t_new`` is 1 for an instant after the last of the runs before, else 0.
    """
    values = ", ".join(
        f"({definition.instant(s)}, {place // BITS}, {1 << place % BITS},"
        f" {int(rows.last is None or s > rows.last)})"
        for place, s in enumerate(sorted(set(chosen)))
    )
    # None is left where all of the window lies before the begin.
    bits = (
        f"SELECT * FROM (VALUES {values}) AS given({AT}, _t_word, _t_bit, _t_new)"
        f" WHERE {AT} >= {definition.instant(rows.start)}"
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


def judged(names: Sequence[str], most: int, only_new: bool = False) -> Ctes:
    """Return the CTEs from ``answers``, ``numbered`` and ``fresh`` to ``judged``: pairs with
    faults.

    ``names`` are the columns of the values, ``most`` is how many instants are numbered at most;
    ``only_new`` leaves out what no new row delivers, and needs no ``_t_new``.  The columns of
    ``judged`` are the values, their key, ``_matched_at``, ``_t_at`` (the first instant at which it
    is an answer), and ``_t_reason``, NULL where nothing is wrong.
    """
    words = range(-(-most // BITS))
    identity = ", ".join([KEY, *names])
    answers, new = (", ".join(f"{alias}.{name}" for name in [KEY, *names]) for alias in "an")
    told = ["_t_word", "_t_bit"] if only_new else ["_t_word", "_t_bit", "_t_new"]
    all_rows = (
        f"SELECT {new}, n.{MATCHED_AT}, NULL AS {AT}, {', '.join(f'NULL AS {c}' for c in told)}"
        f" FROM fresh AS n UNION ALL SELECT {answers}, NULL, a.{AT},"
        f" {', '.join(f'i.{c}' for c in told)}"
        f" FROM answers AS a JOIN numbered AS i ON i.{AT} = a.{AT}"
    )
    bits = [f"BIT_OR(CASE WHEN _t_word = {w} THEN _t_bit END) AS _t_held{w}" for w in words]
    paired = (
        f"SELECT {identity}, MIN({MATCHED_AT}) AS {MATCHED_AT}, MIN({AT}) AS _t_at,"
        f" {', '.join(bits)}{'' if only_new else ', MIN(_t_new) AS _t_new'}"
        f" FROM ({all_rows}) AS all_rows GROUP BY {identity}"
    )
    return [("paired", paired), ("judged", _reasons(words, only_new))]


def _reasons(words: Iterable[int], only_new: bool) -> str:
    missing = "" if only_new else f"WHEN p.{MATCHED_AT} IS NULL AND p._t_new = 1 THEN 'missing'"
    own = " ".join(f"WHEN {word} THEN p._t_held{word}" for word in words)
    present = f"COALESCE((CASE i._t_word {own} END & i._t_bit) <> 0, FALSE)"
    reason = (
        f"CASE {missing} WHEN p._t_at < p.{MATCHED_AT} THEN 'early'"
        f" WHEN i.{AT} IS NOT NULL AND NOT {present} THEN 'absent' END"
    )
    return (
        f"SELECT p.*, {reason} AS _t_reason FROM paired AS p"
        f" LEFT JOIN numbered AS i ON i.{AT} = p.{MATCHED_AT}"
        + (f" WHERE p.{MATCHED_AT} IS NOT NULL" if only_new else "")
    )
