"""Compares the answers of the query as it was read with those of the author's text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import TypeVar

from sqlglot import exp

from tapestry.names import KEY
from tapestry.sql.facts.common_types import type_of
from tapestry.verification.compare import PAGE, id_of, quoted, text_of
from tapestry.verification.definition import Definition
from tapestry.verification.from_clause import AT
from tapestry.verification.own_text import NotReplaced, OwnText

_F = TypeVar("_F")
LONGEST = 100_000
"""Characters of the author's text that one statement repeats at most."""
MOST = 4
"""So many instants in one statement."""
LARGE, LARGEST = 32 * 2**20, 256 * 2**20
"""Bytes of all sources up to which a sample asks at several instants, and up to which it asks."""
_EXACT = frozenset({"tinyint", "smallint", "int", "decimal"})
"""Types whose averages are the same in any order of rows."""


def spread(instants: Iterable[datetime]) -> list[datetime]:
    """Return some instants: the first, the last, and others between, evenly.

    >>> [at.day for at in spread(datetime(2026, 1, day) for day in range(1, 31))]
    [1, 10, 20, 30]
    """
    ordered = sorted(set(instants))
    if len(ordered) <= MOST:
        return ordered
    return [ordered[n * (len(ordered) - 1) // (MOST - 1)] for n in range(MOST)]


def ask_own_text(
    definition: Definition,
    instants: Sequence[datetime],
    ask: Callable[[str], list[_F]],
    sampled: bool = False,
) -> tuple[str, list[_F]]:
    """Return the result of the comparison in words, and the differences that ``ask`` lists.

    Each instant reads all rows of the sources. So ``sampled`` asks at the last one only where these
    are large, and at none where they are larger still. An error of the engine is no finding: it may
    come of what is replaced (an alias `current_date`), of a subquery that it plans in this place
    only, or of values that another order of conditions leaves out.
    """
    if not instants:
        return "not asked: time has not begun", []
    size = sum(definition.scans[name].size for name in definition.reads) if sampled else 0
    if size > LARGEST:
        return f"not asked: its sources are larger than {LARGEST // 2**20} MiB", []
    if size > LARGE:
        instants = instants[-1:]
    chosen = instants[-max(1, LONGEST // (len(definition.own) + 1)) :]
    try:
        statement = own_text_statement(definition, chosen)
    except NotReplaced as reason:
        return f"not asked: {reason}", []
    try:
        found = ask(statement)
    except Exception as error:
        return f"not asked: the engine says {' '.join(str(error).split())[:300]}", []
    return f"asked at {len(chosen)} instants", found


def own_text_statement(definition: Definition, chosen: Sequence[datetime]) -> str:
    """Return SQL for answers that only the author's text has, or only the definition.

    Rows of (reason, instant in µs, NULL, id, key, values as text). Raises NotReplaced where the
    text cannot be asked: it leaves the order of equal rows open, or its words alone do not tell
    what in them stands for relations and the clock.
    """
    if not definition.own:
        raise NotReplaced("it leaves the order of equal rows open")
    if any(_rounds(node) for node in definition.tree.find_all(exp.AggFunc)):
        raise NotReplaced("an average over BIGINT is rounded in no fixed order")
    names = [quoted(name, definition) for name in definition.columns]
    row = ", ".join([AT, *names])
    values = ", ".join(text_of(name) + f" AS c{n}" for n, name in enumerate(names))
    both = (
        f"SELECT 'unread' AS _t_reason, {row} FROM own_rows"
        f" UNION ALL SELECT 'misread', {row} FROM answers"
    )
    one = (
        f"SELECT MIN(_t_reason) AS reason, {row} FROM ({both}) AS _t_both"
        f" GROUP BY {row} HAVING MIN(_t_reason) = MAX(_t_reason)"
    )
    return definition.statement(
        _own_rows(definition, chosen),
        f"SELECT reason, {definition.micros(AT)} AS us, CAST(NULL AS BIGINT) AS matched,"
        f" {id_of('r', definition)} AS id, '' AS {KEY}, {values} FROM ({one}) AS r LIMIT {PAGE}",
    )


def _rounds(node: exp.AggFunc) -> bool:
    """Return whether a value may depend on the order of rows; queries with others are refused.

    Spark adds up whole numbers as DOUBLE for their average: exact up to 2^53.
    """
    if not isinstance(node, exp.Avg) and node.name.lower() not in ("mean", "try_avg"):
        return False
    value = node.expressions[0] if isinstance(node, exp.AnonymousAggFunc) else node.this
    return type_of(value).partition("(")[0] not in _EXACT


def _own_rows(definition: Definition, chosen: Sequence[datetime]) -> list[tuple[str, str]]:
    """The CTEs of the definition's answers and of those of the text, at some instants."""
    ctes = [definition.instants(chosen), ("answers", definition.answers())]
    every = [f"_c{place}" for place in range(definition.listed)]
    listed = ", ".join(
        f"{every[place]} AS {quoted(name, definition)}"
        for place, name in zip(definition.places, definition.columns, strict=True)
    )
    arms = []
    for number, s in enumerate(chosen):
        own = OwnText(definition, s, f"_own{number}_")
        text = own.text(definition.own)
        ctes += own.ctes.values()
        arms.append(
            f"SELECT {listed}, {definition.instant(s)} AS {AT}"
            f" FROM (\n{text}\n) AS _q({', '.join(every)})"
        )
    return [*ctes, ("own_rows", " UNION ALL ".join(arms))]
