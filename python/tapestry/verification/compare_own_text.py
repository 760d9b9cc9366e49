"""What was read of the author's text beside the text itself: equal answers at some instants."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import TypeVar

from tapestry.names import KEY
from tapestry.verification.compare import PAGE, id_of, quoted, text_of
from tapestry.verification.definition import Definition
from tapestry.verification.from_clause import AT
from tapestry.verification.own_text import NotReplaced, OwnText

_F = TypeVar("_F")
LONGEST = 100_000
"""Characters of the author's text that one statement repeats at most."""
MOST = 4
"""So many instants in one statement."""
_CAUSED = (
    "PARSE_SYNTAX_ERROR",
    "UNRESOLVED_COLUMN",
    "AMBIGUOUS_ALIAS_IN_NESTED_CTE",
    "UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY",
)
"""Errors that come of what is replaced: an alias `current_date`, a column called `now()`, a CTE of
the author's with the name of one of the check's; or of a subquery that Spark reads and cannot run,
where a run writes another. None is raised because of a row's values."""


def spread(instants: Iterable[datetime]) -> list[datetime]:
    """Some instants: the first, the last, and others between, evenly.

    >>> [at.day for at in spread(datetime(2026, 1, day) for day in range(1, 31))]
    [1, 10, 20, 30]
    """
    ordered = sorted(set(instants))
    if len(ordered) <= MOST:
        return ordered
    return [ordered[n * (len(ordered) - 1) // (MOST - 1)] for n in range(MOST)]


def ask_own_text(
    definition: Definition, instants: Sequence[datetime], ask: Callable[[str], list[_F]]
) -> tuple[str, list[_F]]:
    """What came of asking, in words, and what differs; ``ask`` lists what a statement finds.

    A text that the engine does not take once it is changed is not asked. All other errors are the
    caller's: it takes what was read of the text, and so would a text of the same meaning.
    """
    if not instants:
        return "not asked: time has not begun", []
    chosen = instants[-max(1, LONGEST // (len(definition.own) + 1)) :]
    try:
        found = ask(own_text_statement(definition, chosen))
    except NotReplaced as reason:
        return f"not asked: {reason}", []
    except Exception as error:
        said = re.search(r"\[([A-Z][A-Z_0-9]+)[].]", str(error))
        if said is None or said[1] not in _CAUSED:
            raise
        return f"not asked: the engine says {' '.join(str(error).split())[:300]}", []
    return f"asked at {len(chosen)} instants", found


def own_text_statement(definition: Definition, chosen: Sequence[datetime]) -> str:
    """Lists what only the author's own text has as an answer at an instant, or only the definition.

    Rows of (reason, instant in µs, NULL, id, key, values as text). Raises NotReplaced where the
    text cannot be asked: it leaves the order of equal rows open, or its words alone do not tell
    what in them stands for relations and the clock.
    """
    if not definition.own:
        raise NotReplaced("it leaves the order of equal rows open")
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
