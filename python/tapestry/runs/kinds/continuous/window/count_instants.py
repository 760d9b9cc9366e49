"""A run that would look at too many rows at too many instants stops before it does."""

from __future__ import annotations

from collections.abc import Mapping

from tapestry.errors import TooManyInstants
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.continuous.query import Query
from tapestry.runs.model.model import Model
from tapestry.sql import Scan, Window
from tapestry.sql.scan import KnownAnswers

SHOWN = 3
"""So many of the largest keys are named."""


def count_instants(
    session: Session,
    model: Model,
    query: Query,
    window: Window,
    scans: Mapping[str, Scan],
    known: KnownAnswers | None = None,
) -> int:
    """How many pairs of an instant and a row a run looks at, at most; 0 for other queries.

    Raises TooManyInstants over the model's ``instants_limit``, with the largest keys.
    """
    pairs, largest = 0, list[str]()
    at_begin = known is not None and known.at_begin
    for text in query.rewriting.row_instants(window, scans, at_begin):
        rows = session.rows(
            "SELECT *, sum(row_instants) OVER () AS _all FROM (\n"
            f"{text}\n) ORDER BY row_instants DESC NULLS LAST LIMIT {SHOWN}"
        )
        pairs += int(rows[0][-1] or 0) if rows else 0
        largest += [_shown(row) for row in rows if len(row) > 2]
    if pairs > model.config.instants_limit:
        raise TooManyInstants(
            f"{model.name} would look at {pairs:,} pairs of an instant and a row, more than"
            f" instants_limit: {model.config.instants_limit:,}"
            + (f"; most of them for {'; '.join(largest)}" if largest else " (it has no key)"),
            where=model.file,
            hint="a later begin, more columns to group by, a greater instants_limit, or a table"
            " over a continuous model of the rows",
        )
    return pairs


def _shown(row: tuple[object, ...]) -> str:
    """A key, shortened, and its pairs."""
    *key, pairs, _ = row
    named = ", ".join("NULL" if one is None else " ".join(str(one).split())[:40] for one in key)
    return f"({named}) {int(float(str(pairs or 0))):,}"
