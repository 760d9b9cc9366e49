"""Rows of the logs as values of a `Run`, a check or a `Waiting`, or what is odd about them.

Nothing depends on the logs, and anybody may have written there: a row that no run has written is
left out of the report and counted (`Unread`), so that the others still show.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
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
_KNOWN: Final = {"action": ACTIONS, "status": STATUSES}
_LONG: Final = ("message", "reason_about", "details")


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


def parse_record(kind: type[Any], columns: Fields, latest: datetime) -> dict[str, Any]:
    """Return the values of a `Run` or a `RecordedCheck` from the columns that exist.

    Each field is a column, which is read by the field's type.
    """
    values: dict[str, Any] = {"model": columns.text("model", NAME)}
    for one in fields(kind):
        if one.name != "model":
            values[one.name] = _value(one.name, str(one.type), columns, latest)
    return {name: value for name, value in values.items() if value is not None}


def _value(name: str, kind: str, columns: Fields, latest: datetime) -> Any:
    if name == "ended_at":
        return past_instant(columns, name, latest)
    if name in _KNOWN:
        return one_of(columns, name, _KNOWN[name])
    if kind.startswith("datetime"):
        return columns.optional_instant(name)
    if kind.startswith("int"):
        return columns.optional_whole(name)
    if kind.startswith("float"):
        return columns.optional_number(name, 0, LONGEST)
    return columns.optional_text(name, TEXT if name in _LONG else NAME)


def parse_waiting(fields: Fields, latest: datetime) -> dict[str, Any]:
    """The values of a `Waiting`."""
    return {
        "model": fields.text("model", NAME),
        "sink": fields.text("sink", NAME),
        "since": past_instant(fields, "since", latest) or fields.instant("since"),
    }


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
