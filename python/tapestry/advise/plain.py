"""Copies the content of a foreign file to plain values of bounded size.

A few aliases of YAML stand for more than any memory holds, and one that names itself for a value
without an end. So what leaves the process that reads (``worker``) is copied here, counted first.
"""

from __future__ import annotations

import datetime
from typing import Any

import yaml

from tapestry.advise.files import Unreadable

MOST = 200_000
"""Values of one file, each alias counted wherever it stands."""
DEEPEST = 30
LONGEST = 2_000_000
"""Characters of one file's values."""
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def load(text: str) -> Any:
    """The value of a YAML text; raises Unreadable where it has none that is plain and bounded."""
    try:
        return plain(yaml.load(text, Loader=_Loader))
    except (yaml.YAMLError, ValueError, RecursionError, MemoryError, TypeError) as error:
        first = (str(error).splitlines() or [""])[0] or type(error).__name__
        raise Unreadable(first[:200]) from error


def plain(value: Any) -> Any:
    """Return a copy of lists, mappings with texts as keys, texts, numbers, truths and None.

    >>> plain({1: [datetime.date(2026, 1, 2), b"x"]})
    {'1': ['2026-01-02', None]}
    """
    return _Copy().of(value, 0)


class _Copy:
    def __init__(self) -> None:
        self.values, self.characters = 0, 0

    def of(self, value: Any, depth: int) -> Any:
        self.values += 1
        if self.values > MOST or depth > DEEPEST:
            raise Unreadable("its aliases or levels stand for more than is read")
        if isinstance(value, dict):
            return {self.text(key): self.of(one, depth + 1) for key, one in value.items()}
        if isinstance(value, list | tuple | set):
            return [self.of(one, depth + 1) for one in value]
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            return None  # to write it would take as long as it is
        if value is None or isinstance(value, bool | int | float):
            return value
        if isinstance(value, str | datetime.date):
            return self.text(value)
        return None

    def text(self, value: Any) -> str:
        found = value if isinstance(value, str) else str(value)
        self.characters += len(found)
        if self.characters > LONGEST:
            raise Unreadable(f"its values are longer than {LONGEST:,} characters")
        return found
