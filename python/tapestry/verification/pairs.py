"""Answers beside new rows: one row for each pair of an answer and the new row that delivers it.

An answer holds at many of the instants that are looked at.  It becomes one row *before* it meets
the new rows, or every instant would carry its values through the join: the first of these instants,
and a set of bits, one for each instant at which it holds.  No more is asked of them:

    missing   no new row delivers it, and the first instant is no older than the runs before
    early     the first instant lies before ``_matched_at``
    absent    ``_matched_at`` is one of the instants, and its bit is not set
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from tapestry.names import KEY, MATCHED_AT
from tapestry.verification.chosen import Rows
from tapestry.verification.definition import Definition
from tapestry.verification.from_clause import AT

BITS = 62
"""Of a number in every engine that are no sign."""
Ctes = list[tuple[str, str]]


def instants(definition: Definition, chosen: Iterable[datetime], start: datetime) -> Ctes:
    """The CTEs ``instants``, from ``start`` on, and ``numbered``, the same with bits."""
    ordered = sorted(set(chosen))
    values = ", ".join(
        f"({definition.instant(s)}, {place // BITS}, {1 << place % BITS})"
        for place, s in enumerate(ordered)
    )
    # None is left where all of the window lies before the begin.
    since = f"WHERE {AT} >= {definition.instant(start)}"
    name, given = definition.instants(ordered)
    bits = f"SELECT * FROM (VALUES {values}) AS given({AT}, _t_word, _t_bit) {since}"
    return [(name, f"{given} {since}"), ("numbered", bits)]


def numbered(relation: str) -> Ctes:
    """The CTE ``numbered`` of instants that only the engine knows, each of them once."""
    places = f"SELECT {AT}, ROW_NUMBER() OVER (ORDER BY {AT}) - 1 AS _t_place FROM {relation}"
    bits = (
        f"SELECT {AT}, CAST(FLOOR(_t_place / {BITS}) AS INT) AS _t_word,"
        f" CAST(POWER(2, _t_place % {BITS}) AS BIGINT) AS _t_bit FROM ({places}) AS placed"
    )
    return [("numbered", bits)]


def judged(rows: Rows, definition: Definition, names: Sequence[str], join: str, most: int) -> Ctes:
    """From ``answers``, ``numbered`` and ``fresh`` to ``judged``: pairs, each with what is wrong.

    ``most`` is how many instants are numbered at most.  The columns of ``judged`` are the values,
    their key, ``_matched_at``, ``_t_at`` (the first instant at which it is an answer), and
    ``_t_reason``, NULL where nothing is wrong.
    """
    words = range(-(-most // BITS))
    values = ", ".join(f"a.{name}" for name in names)
    bits = [f"BIT_OR(CASE WHEN i._t_word = {w} THEN i._t_bit END) AS _t_held{w}" for w in words]
    held = (
        f"SELECT a.{KEY}, {values}, MIN(a.{AT}) AS _t_at, {', '.join(bits)} FROM answers AS a"
        f" JOIN numbered AS i ON i.{AT} = a.{AT} GROUP BY a.{KEY}, {values}"
    )
    both = ", ".join(f"COALESCE(a.{name}, n.{name}) AS {name}" for name in [*names, KEY])
    paired = (
        f"SELECT {both}, n.{MATCHED_AT}, a._t_at, {', '.join(f'a._t_held{w}' for w in words)}"
        f" FROM held AS a {join} fresh AS n ON a.{KEY} = n.{KEY} AND {same_values('a', 'n', names)}"
    )
    return [("held", held), ("paired", paired), ("judged", _reasons(rows, definition, words))]


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


def same_values(one: str, other: str, names: Sequence[str]) -> str:
    """Two rows have the same values."""
    return " AND ".join(f"{one}.{name} IS NOT DISTINCT FROM {other}.{name}" for name in names)
