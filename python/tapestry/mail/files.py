"""The files of a mailbox, opened so that nothing but its own regular files is ever read.

Each name is opened relative to its open folder and without following a link, and what was opened is
looked at again: exchanging a file or a folder on the way for a link, a pipe or a device leads to
nothing but one more file that is skipped.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from tapestry.errors import MailboxUnreadable
from tapestry.mail.limits import MailboxReading, Skipped

DEEPEST = 50
"""Folders below each other that are looked into: each holds an open file of the process."""

_OPEN = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_LINK = {errno.ELOOP, errno.ENOTDIR, errno.EMLINK}
_ABSENT = {errno.ENOENT, errno.EACCES, errno.EPERM, errno.ENXIO, errno.EIO, errno.ESTALE}


def open_given(path: Path) -> int:
    """A descriptor of the file or folder that the user named; a link that they named is followed.

    Raises MailboxUnreadable for anything but a regular file or a folder.
    """
    # Asked before it is opened, because to open a device or a pipe can have effects of its own.
    if _is_file_or_folder(os.stat(path)):
        descriptor = os.open(path, _OPEN)
        if _is_file_or_folder(os.fstat(descriptor)):
            return descriptor
        os.close(descriptor)
    raise MailboxUnreadable(
        "it is a pipe, a socket or a device", hint="write its content to a file, and load that"
    )


def _is_file_or_folder(found: os.stat_result) -> bool:
    return stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)


def open_file(folder: int, name: str, skipped: Skipped) -> BinaryIO | None:
    """A regular file in an open folder; None, and counted, for what is none or cannot be read."""
    descriptor = _open(folder, name, os.O_NOFOLLOW, stat.S_IFREG, skipped)
    return None if descriptor is None else os.fdopen(descriptor, "rb")


@contextmanager
def open_folder(folder: int, name: str, skipped: Skipped) -> Iterator[int | None]:
    """A folder in an open folder; None, and counted, for what is none or cannot be read."""
    flags = os.O_NOFOLLOW | os.O_DIRECTORY
    descriptor = _open(folder, name, flags, stat.S_IFDIR, skipped)
    try:
        yield descriptor
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _open(folder: int, name: str, flags: int, kind: int, skipped: Skipped) -> int | None:
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if _is_kind(found, kind, skipped):
            descriptor = os.open(name, _OPEN | flags, dir_fd=folder)
            if _is_kind(os.fstat(descriptor), kind, skipped):
                return descriptor
            os.close(descriptor)
    except OSError as error:
        if error.errno in _LINK:  # it became one after it was looked at
            skipped.links += 1
        elif error.errno in _ABSENT:
            skipped.unreadable += 1
        else:
            raise
    return None


def _is_kind(found: os.stat_result, kind: int, skipped: Skipped) -> bool:
    actual = stat.S_IFMT(found.st_mode)
    if actual == stat.S_IFLNK:
        skipped.links += 1
    elif actual != kind:
        skipped.special += 1
    return actual == kind


def names(folder: int, reading: MailboxReading) -> list[str]:
    """The names in an open folder, in their order; MailboxUnreadable for too many."""
    found = []
    with os.scandir(folder) as entries:
        for entry in entries:
            reading.name()
            found.append(entry.name)
    return sorted(found)


def is_folder(folder: int, name: str) -> bool:
    """Return whether there is a folder, not a link to one, of this name."""
    return _kind(folder, name) == stat.S_IFDIR


def _kind(folder: int, name: str) -> int | None:
    try:
        return stat.S_IFMT(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except OSError:
        return None


def walk(folder: int, reading: MailboxReading, depth: int = 0) -> Iterator[tuple[int, str]]:
    """The .eml files below an open folder, in the order of their paths: (folder, name)."""
    for name in names(folder, reading):
        kind = _kind(folder, name)
        if kind == stat.S_IFDIR and depth == DEEPEST:
            reading.skipped.deep += 1
        elif kind == stat.S_IFDIR:
            with open_folder(folder, name, reading.skipped) as inner:
                if inner is not None:
                    yield from walk(inner, reading, depth + 1)
        elif kind == stat.S_IFLNK:
            reading.skipped.links += 1
        elif name.lower().endswith(".eml"):
            yield folder, name
        else:
            reading.skipped.other += 1


class Unchanged:
    """A check that a file is the same as when it was opened."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._before = file, self._look(file)

    @staticmethod
    def _look(file: BinaryIO) -> tuple[int, int]:
        found = os.fstat(file.fileno())
        return found.st_size, found.st_mtime_ns

    def __bool__(self) -> bool:
        return self._look(self._file) == self._before
