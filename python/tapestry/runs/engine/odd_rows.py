"""Validated reading of our own tables' rows: a record, or an `OddRow` that says what is wrong.

Anybody who may write to the schema may write to the bookkeeping tables, by mistake too. A row that
no run can have written is never interpreted: code that needs it stops, with its table, its key and
the way out; other code goes on.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from hashlib import sha256
from typing import Any, Final, TypeVar

from tapestry.instants import FIRST, LAST, from_micros, micros

Record = TypeVar("Record")
MOST: Final = 2**63 - 1
SHOWN: Final = 60
_LEAST, _MOST = micros(FIRST), micros(LAST)
_SEAL: Final = "1:"
"""The prefix of seals of this version, which fixes the sealed fields and how they are written."""


class Odd(ValueError):
    """A value that no run can have written; ``way_out``: a remedy besides correcting it."""

    def __init__(self, reason: str, way_out: str = "") -> None:
        super().__init__(reason)
        self.way_out = way_out


@dataclass(frozen=True)
class OddRow:
    """A row that cannot be read: its table and key, and the reason."""

    table: str
    key: tuple[tuple[str, Any], ...]
    reason: str
    way_out: str = ""

    @property
    def where(self) -> str:
        """The table and a condition that finds the row.

        >>> OddRow("db.tapestry_state", (("generation", "a"), ("n", 3)), "").where
        "db.tapestry_state where generation = 'a' and n = 3"
        """
        named = [
            f"{name} is null" if value is None else f"{name} = {shown(value)}"
            for name, value in self.key
        ]
        return f"{self.table} where {' and '.join(named)}"

    def named(self, name: str) -> str:
        """Return a column of the key that is a name, for a sentence; '' where it is none."""
        value = dict(self.key).get(name)
        plain = isinstance(value, str) and value.isprintable() and len(value) <= 4 * SHOWN
        return str(value) if plain else ""

    def __str__(self) -> str:
        return f"{self.where}: {self.reason}"


def read_row(
    table: str, key: Sequence[str], values: Mapping[str, Any], parse: Callable[[Fields], Record]
) -> Record | OddRow:
    """Return the record that ``parse`` makes of a row, or an `OddRow` named by its ``key``."""
    try:
        return parse(Fields(values))
    except Odd as error:
        named = tuple((name, values.get(name)) for name in key)
        return OddRow(table, named, str(error), error.way_out)


class Fields:
    """The values of a row by column; each reader returns a value of its type or raises `Odd`.

    A missing column is NULL. ``optional`` readers return None for NULL.
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def given(self, name: str) -> bool:
        """Return whether there is a value, whatever it is."""
        return self._values.get(name) is not None

    def text(self, name: str, most: int | None = None) -> str:
        """Return a text that is not empty, cut off after ``most`` characters."""
        found = self.optional_text(name, most)
        if not found:
            raise Odd(f"{name} is {'null' if found is None else 'empty'}")
        return found

    def optional_text(self, name: str, most: int | None = None) -> str | None:
        """Return a text, or None; one without ``most`` is not cut off and can be written again."""
        value = self._values.get(name)
        if value is None:
            return None
        if not isinstance(value, str):
            raise self._no(name, "text")
        try:
            value.encode("utf-8", "strict" if most is None else "replace")
        except UnicodeEncodeError:
            raise self._no(name, "text") from None
        return value if most is None or len(value) <= most else f"{value[: most - 1]}…"

    def whole(self, name: str, least: int = 0, most: int = MOST) -> int:
        """Return a whole number from ``least`` to ``most``."""
        found = self.optional_whole(name, least, most)
        if found is None:
            raise Odd(f"{name} is null")
        return found

    def optional_whole(self, name: str, least: int = 0, most: int = MOST) -> int | None:
        """Return a whole number from ``least`` to ``most``, or None."""
        value = self._values.get(name)
        if value is None:
            return None
        if type(value) is not int or not least <= value <= most:
            raise self._no(name, f"whole number from {least} on")
        return int(value)

    def truth(self, name: str) -> bool:
        """Return true or false."""
        value = self._values.get(name)
        if value is None:
            raise Odd(f"{name} is null")
        if not isinstance(value, bool):
            raise self._no(name, "truth value")
        return value

    def optional_number(self, name: str, least: float, most: float) -> float | None:
        """Return a finite number from ``least`` to ``most``, or None."""
        value = self._values.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, float | int):
            raise self._no(name, "number")
        if not least <= value <= most:  # NaN is neither
            raise self._no(name, f"number from {least:g} to {most:g}")
        return float(value)

    def instant(self, name: str) -> datetime:
        """Return an instant."""
        found = self.optional_instant(name)
        if found is None:
            raise Odd(f"{name} is null")
        return found

    def optional_instant(self, name: str) -> datetime | None:
        """Return an instant in the years 1 to 9999, or None; microseconds or a datetime are read.

        A datetime without a zone is in UTC.
        """
        value = self._values.get(name)
        if value is None:
            return None
        if isinstance(value, datetime):
            aware = value if value.tzinfo else value.replace(tzinfo=timezone.utc)
            try:
                return aware.astimezone(timezone.utc)
            except (OverflowError, ValueError):
                raise self._no(name, "instant in the years 1 to 9999") from None
        if type(value) is not int or not _LEAST <= value <= _MOST:
            raise self._no(name, "instant in the years 1 to 9999")
        return from_micros(value)

    def json(self, name: str) -> Any:
        """Return the value of a JSON text; duplicate keys of an object and NULL raise `Odd`."""
        text = self.text(name)
        try:
            return json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
        except RecursionError:
            raise Odd(f"{name} is JSON nested too deeply: {shown(text)}") from None
        except ValueError as error:
            raise Odd(f"{name} is no JSON ({shorten(str(error))}): {shown(text)}") from None

    def _no(self, name: str, wanted: str) -> Odd:
        return Odd(f"{name} is no {wanted} but {shown(self._values.get(name))}")


def sealed(values: Sequence[Any]) -> str:
    """Return a seal over a row's values, which does not fit once one of them is changed.

    It detects accidents, not forgery: whoever can compute a hash can seal.
    """
    text = json.dumps(list(values), separators=(",", ":"))
    return f"{_SEAL}{sha256(text.encode()).hexdigest()[:32]}"


def check_seal(seal: str | None, values: Sequence[Any]) -> bool:
    """Return whether the row has a seal of this version; raise `Odd` where it does not fit.

    A row of an earlier version has none, one of a later version another: both are taken as they
    are, by their values alone.
    """
    if seal is None:
        return False
    number, mark, _ = seal.partition(":")
    if not mark or not number.isdecimal():
        raise Odd(f"seal is no seal but {shown(seal)}")
    if not seal.startswith(_SEAL):
        return False
    if seal != sealed(values):
        raise Odd("it is not as its run wrote it: its seal does not fit its values")
    return True


def shown(value: Any) -> str:
    """Return a value for a message: short, without control characters, a text in quotes.

    >>> shown("a\\x1b[2J"), shown(float("nan")), len(shown("x" * 10**6))
    ("'a\\\\x1b[2J'", 'nan', 60)
    """
    if isinstance(value, str | bytes):
        value = value[: SHOWN + 1]
    try:
        return shorten(repr(value))
    except (ValueError, RecursionError):  # of very many digits, nested very deeply
        return f"something of type {type(value).__name__}"


def shorten(text: str) -> str:
    """Return a text as one short line."""
    flat = " ".join(text.split())
    return flat if len(flat) <= SHOWN else f"{flat[: SHOWN - 1]}…"


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands there twice")
    return found


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is no number of JSON")
