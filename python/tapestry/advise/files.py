"""Finds and reads the files of a folder: regular ones, limited in number and size; no links."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

MOST_FILES = 20_000
LONGEST = 1_000_000
"""Bytes of one file. A longer one is no model that a person wrote."""
MOST_FOLDERS = 20_000
_PASSED_OVER = frozenset({"target", "logs", "node_modules", "venv", "__pycache__"})


@dataclass
class Found:
    """The files of a folder, in order of their names, and what was left out."""

    files: list[Path] = field(default_factory=list)
    links: int = 0
    special: int = 0
    beyond: bool = False
    """More files or folders than are looked at."""


class Unreadable(Exception):
    """A file whose text cannot be read; the message says why."""


def find_files(folders: Iterable[Path], suffixes: tuple[str, ...]) -> Found:
    """The regular files with one of the suffixes below the folders.

    Links are counted and not followed: one may lead anywhere.  Folders that tools write to, and
    hidden ones, are passed over.
    """
    found = Found()
    seen: set[Path] = set()
    looked_in = 0
    for folder, names in _walk(folders, found):
        looked_in += 1
        if looked_in > MOST_FOLDERS:
            found.beyond = True
            break
        for name in names:
            path = folder / name
            if path.suffix.lower() not in suffixes or path in seen:
                continue
            seen.add(path)
            if len(found.files) == MOST_FILES:
                found.beyond = True
                return found
            _add(path, found)
    return found


def _walk(folders: Iterable[Path], found: Found) -> Iterator[tuple[Path, list[str]]]:
    for top in folders:
        for folder, inner, names in os.walk(top, followlinks=False):
            links = [one for one in inner if os.path.islink(os.path.join(folder, one))]
            found.links += len(links)
            inner[:] = sorted(
                one
                for one in inner
                if one not in links and one not in _PASSED_OVER and not one.startswith(".")
            )
            yield Path(folder), sorted(names)


def _add(path: Path, found: Found) -> None:
    try:
        mode = path.lstat().st_mode
    except OSError:
        found.special += 1
        return
    if stat.S_ISLNK(mode):
        found.links += 1
    elif stat.S_ISREG(mode):
        found.files.append(path)
    else:
        found.special += 1


def read_text(path: Path) -> str:
    """The text of a regular file; raises Unreadable where it is too long or no text."""
    try:
        # Not followed and not waited for: what was a file may be a link or a pipe by now.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise Unreadable("it is no regular file")
            content = file.read(LONGEST + 1)
    except OSError as error:
        raise Unreadable(f"it cannot be read: {error.strerror}") from error
    if len(content) > LONGEST:
        raise Unreadable(f"it is longer than {LONGEST:,} bytes")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Unreadable("it is not UTF-8 text") from error
