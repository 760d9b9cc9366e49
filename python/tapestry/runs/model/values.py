"""Readers of the values of configuration keys, with defaults and texts for the reference.

Each function here returns the ``Values`` of one sort of key; for any other value a reader raises
ConfigurationError, which says what is valid.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta, tzinfo
from difflib import get_close_matches
from typing import Any

from tapestry.errors import ConfigurationError
from tapestry.runs.engine.instants import parse_every, parse_instant, parse_length
from tapestry.runs.model.declare import parse_expectations


@dataclass(frozen=True)
class Values:
    """The sort of value that a key takes.

    read
        From (key, value as written, the session's time zone) to the value that a run knows.
    default
        The value of a key that nobody wrote.
    told
        A description in words, for the reference.
    choices
        The words that it takes, where it takes only some; the first is the default.
    """

    read: Callable[[str, Any, tzinfo], Any]
    default: Any
    told: str
    choices: tuple[str, ...] = ()


def choice(*choices: str, refused: Mapping[str, str] | None = None) -> Values:
    """Return the reader of one of these words, the first by default.

    ``refused``: words that dbt's users know and that this kind cannot have: why, and what there is.
    """

    def read(key: str, value: Any, _zone: tzinfo) -> str:
        return _chosen(key, value, choices, refused or {})

    return Values(read, choices[0], "", choices)


def length(default: timedelta) -> Values:
    """Return the reader of a length of time."""
    told = "a length of time, like `1 hour` or `1 day 12 hours`"
    return Values(lambda key, value, _zone: parse_length(value, key), default, told)


def interval() -> Values:
    """Return the reader of how often something is done; the default is None."""
    told = "a length of time, like `30 seconds` or `1 hour`"
    return Values(lambda key, value, _zone: parse_every(value, key), None, told)


def instant() -> Values:
    """Return the reader of an instant; the default is None."""
    told = "an instant, like `2026-03-01` or `2026-03-01 12:00:00+01:00`"
    return Values(lambda key, value, zone: parse_instant(value, key, zone), None, told)


def texts(of_what: str, example: str) -> Values:
    """Return the reader of a list of texts, or one text alone."""

    def read(key: str, value: Any, _zone: tzinfo) -> tuple[str, ...]:
        found = [value] if isinstance(value, str) else value
        if not isinstance(found, (list, tuple)) or not all(isinstance(one, str) for one in found):
            raise ConfigurationError(
                f"{key}: {value!r} is not a list of {of_what}", hint=f"write it like {example}"
            )
        return tuple(found)

    return Values(read, (), "a list of texts")


def entries() -> Values:
    """Return the reader of a list of anything, or one thing alone, to be read by other code."""

    def read(_key: str, value: Any, _zone: tzinfo) -> tuple[Any, ...]:
        return tuple(value) if isinstance(value, (list, tuple)) else (value,)

    return Values(read, (), "a list")


def expectations() -> Values:
    """Return the reader of a list of expectations."""
    told = "a list ([expectations](../how-to/expectations.md))"
    return Values(lambda _key, value, _zone: parse_expectations(value), (), told)


def portion(default: float) -> Values:
    """Return the reader of a part of something: a number above 0, up to 1."""

    def read(key: str, value: Any, _zone: tzinfo) -> float:
        try:
            found = float(value)
        except (TypeError, ValueError):
            found = 0.0
        if not 0 < found <= 1:
            raise ConfigurationError(
                f"{key}: {value!r} is not a share",
                hint="write a number up to 1, like 0.01: that is one part in a hundred",
            )
        return found

    return Values(read, default, "a number above 0, up to 1")


def whole_number(default: int, hint: str, least: int | None = None) -> Values:
    """Return the reader of a whole number, ``least`` or more."""

    def read(key: str, value: Any, _zone: tzinfo) -> int:
        try:
            if isinstance(value, bool) or int(value) != float(value):
                raise ValueError
            if least is not None and int(value) < least:
                raise ValueError
            return int(value)
        except (TypeError, ValueError, OverflowError):
            more = "" if least is None else f", {least} or more"
            raise ConfigurationError(
                f"{key}: {value!r} is not a whole number{more}", hint=hint
            ) from None

    return Values(read, default, "a whole number")


def aliases(*words: str) -> Values:
    """Return the reader of one of these words, or a list of aliases and of pairs of them."""

    def read(key: str, value: Any, _zone: tzinfo) -> str | tuple[str | tuple[str, str], ...]:
        if not isinstance(value, (list, tuple)):
            return _chosen(key, value, words, {})
        found = [one if isinstance(one, str) else _pair(one) for one in value]
        if not found or not all(one and (not isinstance(one, str) or one.strip()) for one in found):
            raise ConfigurationError(
                f"{key}: {value!r} is not a list of aliases, and of pairs of them",
                hint="write it like [r1, [r1, r2]]: a table of the query, by its alias in FROM, and"
                " two that it joins",
            )
        return tuple(one for one in found if one is not None)

    return Values(read, words[0], f"{', '.join(f'`{w}`' for w in words)}, or a list of aliases")


def _pair(value: Any) -> tuple[str, str] | None:
    """Return two different aliases; None for anything else."""
    if not isinstance(value, (list, tuple)) or len(value) != len(("left", "right")):
        return None
    left, right = value
    if not (isinstance(left, str) and isinstance(right, str) and left.strip() and right.strip()):
        return None
    return None if left.lower() == right.lower() else (left, right)


def _chosen(key: str, value: Any, choices: tuple[str, ...], refused: Mapping[str, str]) -> str:
    # YAML reads a bare `off` as false, `on` as true.
    bare = ("on" if value else "off") if isinstance(value, bool) else ""
    text = bare if bare in choices else str(value)
    if text in choices:
        return text
    if text in refused:
        raise ConfigurationError(f"{key}: {text} is not for this kind of model", hint=refused[text])
    near = get_close_matches(text, choices, 1)
    raise ConfigurationError(
        f"{key}: {text} is not a value of this key",
        hint=(f"did you mean {near[0]}? " if near else "") + f"Valid are: {', '.join(choices)}",
    )
