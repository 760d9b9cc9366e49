"""Reads messages of an mbox file, a Maildir, a folder of .eml files, or one .eml file."""

from __future__ import annotations

import gzip
import os
import stat
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from tapestry.errors import MailboxUnreadable
from tapestry.mail.content import Content, read_content
from tapestry.mail.files import (
    Unchanged,
    is_folder,
    names,
    open_file,
    open_folder,
    open_given,
    walk,
)
from tapestry.mail.limits import MailboxReading
from tapestry.mail.mbox import split_mbox

_MAILDIR = ("cur", "new")


def read_mailbox(path: Path, reading: MailboxReading) -> Iterator[Content]:
    """All messages of a mailbox, in its order, without their bodies.

    Raises MailboxUnreadable for what is no file or folder, for more than the limits, and for a file
    that is damaged or that somebody wrote to meanwhile.
    """
    descriptor = open_given(path)
    if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
        with os.fdopen(descriptor, "rb") as file:
            yield from _read_file(file, path.suffix.lower(), reading)
        return
    try:
        maildir = is_folder(descriptor, "cur")
        yield from (_read_maildir if maildir else _read_folder)(descriptor, reading)
    finally:
        os.close(descriptor)


def mailbox_name(path: Path) -> str:
    """Return the name of a mailbox, for messages that name no list.

    >>> mailbox_name(Path("2019-April.mbox.gz")), mailbox_name(Path("INBOX"))
    ('2019-April', 'INBOX')
    """
    name = path.resolve().name
    for ending in (".gz", ".mbox", ".mbx", ".txt", ".eml"):
        name = name.removesuffix(ending)
    readable = os.fsencode(name).decode("utf-8", "replace")
    return " ".join(readable.split()) or "mailbox"


@contextmanager
def unchanged(file: BinaryIO) -> Iterator[None]:
    """Raise MailboxUnreadable if somebody wrote to the file meanwhile."""
    same = Unchanged(file)
    yield
    if not same:
        raise MailboxUnreadable(
            "somebody wrote to it while it was read, so nothing of it is loaded",
            hint="load it again when nobody does, or load a copy",
        )


def _read_file(file: BinaryIO, suffix: str, reading: MailboxReading) -> Iterator[Content]:
    with unchanged(file):
        if suffix == ".eml":
            yield read_content(file, reading)
        elif suffix == ".gz":
            yield from _read_gzip(file, reading)
        else:
            yield from split_mbox(file, reading)


def _read_gzip(file: BinaryIO, reading: MailboxReading) -> Iterator[Content]:
    try:
        with gzip.GzipFile(fileobj=file) as unpacked:
            yield from split_mbox(unpacked, reading)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise MailboxUnreadable(
            f"it is no whole gzip file, so nothing of it is loaded: {error}",
            hint="fetch it again; or unpack what can be unpacked (gzip -dc), and load that",
        ) from error


def _read_maildir(folder: int, reading: MailboxReading) -> Iterator[Content]:
    """Yield the messages in cur and new, in the order of the names, whatever their flags."""
    with (
        open_folder(folder, _MAILDIR[0], reading.skipped) as cur,
        open_folder(folder, _MAILDIR[1], reading.skipped) as new,
    ):
        found = [
            (name.partition(":")[0], name, inner)
            for inner in (cur, new)
            if inner is not None
            for name in names(inner, reading)
            if not name.startswith(".")
        ]
        found.sort()
        yield from _read_files(((inner, name) for _, name, inner in found), reading)


def _read_folder(folder: int, reading: MailboxReading) -> Iterator[Content]:
    yield from _read_files(walk(folder, reading), reading)


def _read_files(files: Iterable[tuple[int, str]], reading: MailboxReading) -> Iterator[Content]:
    for folder, name in files:
        file = open_file(folder, name, reading.skipped)
        if file is None:
            continue
        with file:
            same = Unchanged(file)
            try:
                content = read_content(file, reading)
            except OSError:
                reading.skipped.unreadable += 1
                continue
            if same:
                yield content
            else:
                reading.skipped.changed += 1
