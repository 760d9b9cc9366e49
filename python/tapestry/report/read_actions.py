"""Read the batches of the actions of a schema, each by its last event."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

from tapestry.report.acted import ActionRecord, actions_from
from tapestry.report.read import Tables
from tapestry.report.rows import TEXT, Unread
from tapestry.runs.tables.action_batch import CLAIMED
from tapestry.runs.tables.batches import NAME as TABLE

MOST: Final = 50_000
"""So many batches are looked at, those of which something was noted last."""
COLUMNS: Final = (
    *("action", "life", "m", "i", "key", "cut", "firings", "rows", "release"),
    *("event", "attempt", "at", "seconds", "error"),
)
INSTANTS: Final = ("release", "at", "claimed_at")
TEXTS: Final = ("action", "life", "key", "cut", "event", "error")


def read_actions(
    tables: Tables, latest: datetime
) -> tuple[dict[str, ActionRecord], tuple[Unread, ...]]:
    """The actions of a schema; none where there is no such table, or it is of another kind."""
    try:
        rows = list(_rows(tables))
    except Exception as error:
        if not tables.alive():
            raise
        return {}, (Unread(TABLE, None, " ".join(str(error).split())[:300]),)
    return actions_from(rows, latest)


def _rows(tables: Tables) -> Iterator[dict[str, Any]]:
    """The newest batches, each by its last event, and when a run took it first."""
    there = tables.columns(TABLE)
    missing = [name for name in COLUMNS if there and name not in there]
    if missing:
        raise ValueError(f"it has no column {missing[0]}")
    if not there:
        return
    batch = "PARTITION BY action, life, m, i"
    claimed = f"CASE WHEN event = '{CLAIMED}' THEN noted.at END"
    inner = (
        f"SELECT *, row_number() OVER ({batch} ORDER BY noted.at DESC, attempt DESC) AS nth,"
        f" min({claimed}) OVER ({batch}) AS claimed_at FROM {{table}} AS noted"
    )
    names = [*COLUMNS, "claimed_at"]
    rows = tables.rows(
        TABLE,
        f"SELECT {', '.join(_item(tables, name) for name in names)} FROM ({inner}) AS events"
        f" WHERE nth = 1 ORDER BY {names.index('at') + 1} DESC LIMIT {MOST}",
    )
    for row in rows:
        yield dict(zip(names, row, strict=True))


def _item(tables: Tables, name: str) -> str:
    if name in TEXTS:
        return f"substring({name}, 1, {TEXT}) AS {name}"
    # `at` is a word of some engines
    return f"{tables.micros(f'events.{name}')} AS {name}" if name in INSTANTS else name
