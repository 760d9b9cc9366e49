"""Rows of the logs as values of a `Run`, a `Check` or a `Waiting`, or what is odd about them.

Nothing depends on the logs, and anybody may have written there: a row that no run has written is
left out of the report and counted (`Unread`), so that the others still show.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from tapestry.runs.engine.odd_rows import Fields, Odd, OddRow, read_row, shown

LONGEST: Final = 10**9
"""Seconds that a run may have taken, at most: thirty years."""
TEXT: Final = 100_000
"""Characters of a text that are shown, at most."""
NAME: Final = 600
"""Characters of a name: Spark's are shorter."""
ACTIONS: Final = ("create", "append", "overwrite", "replace", "failed")
"""A run writes one to its log: how it wrote (``runs.protocol.writing``), or that it failed."""
STATUSES: Final = ("pass", "warn", "fail", "error")
_RUN_COUNTS: Final = (
    "n",
    "new_rows",
    "late_rows",
    "null_rows",
    "rejected_rows",
    "files_read",
    "bytes_read",
    "files_written",
    "bytes_written",
    "inserted_rows",
    "updated_rows",
    "deleted_rows",
    "bytes_full",
)


@dataclass(frozen=True)
class Unread:
    """The rows of a table that are left out (None: all), and why the first of them is."""

    table: str
    rows: int | None
    why: str


class Readings:
    """The rows of one table, read one by one; ``left_out`` is what could not be.

    ``latest`` is the instant after which no run can have ended yet.
    """

    def __init__(self, table: str, latest: datetime) -> None:
        self._table, self._latest = table, latest
        self._odd: list[str] = []

    @property
    def left_out(self) -> tuple[Unread, ...]:
        """An entry for the rows left out, if any."""
        return (Unread(self._table, len(self._odd), self._odd[0]),) if self._odd else ()

    def read(
        self, rows: Iterable[Mapping[str, Any]], parse: Any, key: tuple[str, ...]
    ) -> Iterable[dict[str, Any]]:
        """Yield the values of each row; an exact duplicate is left out, too."""
        seen: set[str] = set()
        for row in rows:
            found = read_row(self._table, key, row, lambda fields: parse(fields, self._latest))
            if isinstance(found, OddRow):
                self._odd.append(str(found))
                continue
            if found.get("run_id"):
                text = repr(found)
                if text in seen:
                    odd = OddRow(self._table, tuple((k, row.get(k)) for k in key), "again")
                    self._odd.append(str(odd))
                    continue
                seen.add(text)
            yield found


RUN_KEY = ("model", "n", "run_id")
CHECK_KEY = ("model", "n", "run_id", "kind", "name")
WAITING_KEY = ("model", "sink")


def parse_run(fields: Fields, latest: datetime) -> dict[str, Any]:
    """Return the values of a `Run` from the columns that exist."""
    values: dict[str, Any] = _identity(fields, latest)
    values["action"] = one_of(fields, "action", ACTIONS)
    for name in ("t", "tau", "horizon"):
        values[name] = fields.optional_instant(name)
    for name in _RUN_COUNTS:
        values[name] = fields.optional_whole(name)
    values["seconds"] = fields.optional_number("seconds", 0, LONGEST)
    for name in ("strategy", "verification", "refresh", "reason"):
        values[name] = fields.optional_text(name, NAME)
    for name in ("message", "reason_about"):
        values[name] = fields.optional_text(name, TEXT)
    return _without_null(values)


def parse_check(fields: Fields, latest: datetime) -> dict[str, Any]:
    """Return the values of a `Check` from the columns that exist."""
    values: dict[str, Any] = _identity(fields, latest)
    values["status"] = one_of(fields, "status", STATUSES)
    for name in ("n", "checked_rows", "violations"):
        values[name] = fields.optional_whole(name)
    values["seconds"] = fields.optional_number("seconds", 0, LONGEST)
    for name in ("kind", "name", "on_violation", "level"):
        values[name] = fields.optional_text(name, NAME)
    values["details"] = fields.optional_text("details", TEXT)
    return _without_null(values)


def parse_waiting(fields: Fields, latest: datetime) -> dict[str, Any]:
    """The values of a `Waiting`."""
    return {
        "model": fields.text("model", NAME),
        "sink": fields.text("sink", NAME),
        "since": past_instant(fields, "since", latest) or fields.instant("since"),
    }


def _identity(fields: Fields, latest: datetime) -> dict[str, Any]:
    values: dict[str, Any] = {"model": fields.text("model", NAME)}
    for name in ("invocation_id", "run_id", "generation"):
        values[name] = fields.optional_text(name, NAME)
    values["ended_at"] = past_instant(fields, "ended_at", latest)
    return values


def past_instant(fields: Fields, name: str, latest: datetime) -> datetime | None:
    """Return an instant in the past, or None; raise `Odd` for one in the future."""
    found = fields.optional_instant(name)
    if found is not None and not 1970 <= found.year <= latest.year:
        raise Odd(f"{name} is {found}")
    if found is not None and found > latest:
        raise Odd(f"{name} lies in the future: {found}")
    return found


def one_of(fields: Fields, name: str, known: tuple[str, ...]) -> str | None:
    """Return a text that is one of the known ones, or None; raise `Odd` for another."""
    found = fields.optional_text(name)
    if found and found not in known:
        raise Odd(f"{name} is none of {', '.join(known)} but {shown(found)}")
    return found


def _without_null(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
