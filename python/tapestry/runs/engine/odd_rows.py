"""Rows of our own tables, read with suspicion: a record, or an `OddRow` that says what is odd.

Anybody who may write to the schema may write to the bookkeeping tables, by mistake too. A row that
no run can have written is never guessed at. It stands for itself: whoever needs it stops, with its
table, its key and the way out; whoever does not need it goes on.
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
"""What a seal of this version begins with: which fields it is about, and how they are written."""


class Odd(ValueError):
    """A value that no run can have written; ``way_out``: what to do but to put it right."""

    def __init__(self, reason: str, way_out: str = "") -> None:
        super().__init__(reason)
        self.way_out = way_out


@dataclass(frozen=True)
class OddRow:
    """A row that cannot be read: whose it is, by its key, and why."""

    table: str
    key: tuple[tuple[str, Any], ...]
    reason: str
    way_out: str = ""

    @property
    def where(self) -> str:
        """The table and the row, as one looks for it.

        >>> OddRow("db.tapestry_state", (("generation", "a"), ("n", 3)), "").where
        "db.tapestry_state where generation = 'a' and n = 3"
        """
        named = [
            f"{name} is null" if value is None else f"{name} = {shown(value)}"
            for name, value in self.key
        ]
        return f"{self.table} where {' and '.join(named)}"

    def named(self, name: str) -> str:
        """A column of the key that is a name, for a sentence; '' where it is none."""
        value = dict(self.key).get(name)
        plain = isinstance(value, str) and value.isprintable() and len(value) <= 4 * SHOWN
        return str(value) if plain else ""

    def __str__(self) -> str:
        return f"{self.where}: {self.reason}"


def read_row(
    table: str, key: Sequence[str], values: Mapping[str, Any], parse: Callable[[Fields], Record]
) -> Record | OddRow:
    """What ``parse`` makes of a row, or what is odd about it; ``key`` are columns that name it."""
    try:
        return parse(Fields(values))
    except Odd as error:
        named = tuple((name, values.get(name)) for name in key)
        return OddRow(table, named, str(error), error.way_out)


class Fields:
    """The values of a row by column; each reader gives a value of its type or raises `Odd`.

    A column that is not there is NULL. ``optional`` readers give None for NULL.
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def text(self, name: str, most: int | None = None) -> str:
        """A text that is not empty; what is longer than ``most`` is cut off there."""
        found = self.optional_text(name, most)
        if not found:
            raise Odd(f"{name} is {'null' if found is None else 'empty'}")
        return found

    def optional_text(self, name: str, most: int | None = None) -> str | None:
        """A text, or None; one that is not cut off, and so not only shown, can be written again."""
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
        """A whole number from ``least`` to ``most``."""
        found = self.optional_whole(name, least, most)
        if found is None:
            raise Odd(f"{name} is null")
        return found

    def optional_whole(self, name: str, least: int = 0, most: int = MOST) -> int | None:
        """The same, or None."""
        value = self._values.get(name)
        if value is None:
            return None
        if type(value) is not int or not least <= value <= most:
            raise self._no(name, f"whole number from {least} on")
        return int(value)

    def truth(self, name: str) -> bool:
        """True or false."""
        value = self._values.get(name)
        if value is None:
            raise Odd(f"{name} is null")
        if not isinstance(value, bool):
            raise self._no(name, "truth value")
        return value

    def optional_number(self, name: str, least: float, most: float) -> float | None:
        """A finite number from ``least`` to ``most``, or None."""
        value = self._values.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, float | int):
            raise self._no(name, "number")
        if not least <= value <= most:  # NaN is neither
            raise self._no(name, f"number from {least:g} to {most:g}")
        return float(value)

    def instant(self, name: str) -> datetime:
        """An instant."""
        found = self.optional_instant(name)
        if found is None:
            raise Odd(f"{name} is null")
        return found

    def optional_instant(self, name: str) -> datetime | None:
        """An instant in the years 1 to 9999, given in microseconds or as a datetime, or None.

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
        """What a JSON text says, each key of an object once; raises for NULL."""
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
    """A seal over a row's values: a row that is not as its writer wrote it does not fit it.

    It tells accidents, not forgers: whoever can compute a hash can seal.
    """
    text = json.dumps(list(values), separators=(",", ":"))
    return f"{_SEAL}{sha256(text.encode()).hexdigest()[:32]}"


def check_seal(seal: str | None, values: Sequence[Any]) -> bool:
    """Does a seal of this version stand there? Raises `Odd` where it does not fit.

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
    """A value in a message: short, without control characters, a text in quotes.

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
    """A text of one short line."""
    flat = " ".join(text.split())
    return flat if len(flat) <= SHOWN else f"{flat[: SHOWN - 1]}…"


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands there twice")
    return found


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is no number of JSON")
