"""Stores for later processes until when a model has nothing to do unless its sources change.

Time alone can bring an answer (``current_timestamp() - interval 1 day``), so a run over unchanged
sources asks them when it will. That costs a Spark job, and holds for as long as they stay as they
are: every later process would ask the same.
"""

from __future__ import annotations

import json
from datetime import datetime
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import tapestry
from tapestry.errors import ConfigurationError
from tapestry.folders import read_own, write_own
from tapestry.instants import FIRST, LAST, from_micros, micros

SIZE = 5_000
"""So many are kept: the newest."""
NAME = "quiet.json"
_LONGEST = 1 << 20
_LEAST, _MOST = micros(FIRST), micros(LAST)


class QuietTimes:
    """Instants by a text that identifies all that they depend on; None: nothing ever happens."""

    def __init__(self) -> None:
        self._until: dict[str, datetime | None] = {}
        self._new: dict[str, datetime | None] = {}
        self.was_read = False

    @property
    def is_kept(self) -> bool:
        """Whether ``write`` has nothing to add."""
        return not self._new

    def known(self, key: str) -> bool:
        """Return whether it is known until when nothing happens."""
        return _short(key) in self._until

    def until(self, key: str) -> datetime | None:
        """Return the instant; KeyError where it is not known."""
        return self._until[_short(key)]

    def note(self, key: str, until: datetime | None) -> None:
        """Note that nothing happens before ``until``."""
        for known in (self._until, self._new):
            known[_short(key)] = until
            _bound(known)

    def read(self, folder: Path) -> None:
        """Learn what earlier processes of the same code have noted in a folder of the user's own.

        Whatever does not have the form that ``write`` gives it counts as not there.
        """
        self.was_read = True
        self._until = _read(folder / NAME) | self._until
        _bound(self._until)

    def write(self, folder: Path) -> None:
        """Add what was noted since to the file in the folder; OSError where it cannot be written.

        Of two processes that write at once one may lose its instants, which are then found again.
        """
        if self.is_kept:
            return
        kept = _read(folder / NAME)
        for key in self._new:
            kept.pop(key, None)  # what is noted last stands last
        kept |= self._new
        _bound(kept)
        until = {key: None if one is None else micros(one) for key, one in kept.items()}
        write_own(folder / NAME, json.dumps({"code": _code(), "until": until}).encode())
        self._new = {}


def _read(file: Path) -> dict[str, datetime | None]:
    try:
        content = json.loads(read_own(file, _LONGEST))
    except (OSError, ValueError, RecursionError, ConfigurationError):
        return {}
    if not isinstance(content, dict) or content.get("code") != _code():
        return {}
    until = content.get("until")
    if not isinstance(until, dict):
        return {}
    return {key: _instant(one) for key, one in until.items() if _is_one(one)}


def _is_one(found: Any) -> bool:
    whole = isinstance(found, int) and not isinstance(found, bool)
    return found is None or (whole and _LEAST <= found <= _MOST)


def _instant(found: int | None) -> datetime | None:
    return None if found is None else from_micros(found)


def _short(key: str) -> str:
    return sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _bound(known: dict[str, datetime | None]) -> None:
    for key in list(known)[:-SIZE] if len(known) > SIZE else ():
        del known[key]


@cache
def _code() -> str:
    """Identify the code of this package: other code may find other instants."""
    package = Path(tapestry.__file__).parent
    found = sorted((str(f.relative_to(package)), f.stat()) for f in package.rglob("*.py"))
    listed = [(name, stat.st_size, stat.st_mtime_ns) for name, stat in found]
    return sha256(json.dumps(listed).encode()).hexdigest()[:32]
