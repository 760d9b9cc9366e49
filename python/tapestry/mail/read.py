"""Where messages come from: an mbox file, a Maildir, a folder of .eml files, one .eml file."""

from __future__ import annotations

import gzip
import mailbox
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

Content = tuple[bytes, bytes]
"""The message, and the From_ line before it (empty where there is none)."""


def read_mailbox(path: Path) -> Iterator[Content]:
    """All messages of a mailbox, in its order."""
    if path.is_dir():
        return _read_maildir(path) if (path / "cur").is_dir() else _read_folder(path)
    if path.suffix == ".eml":
        return iter([(path.read_bytes(), b"")])
    return _read_gzip(path) if path.suffix == ".gz" else _read_mbox(path)


def mailbox_name(path: Path) -> str:
    """What a mailbox is called where its messages name no list.

    >>> mailbox_name(Path("2019-April.mbox.gz")), mailbox_name(Path("INBOX"))
    ('2019-April', 'INBOX')
    """
    name = path.resolve().name
    for ending in (".gz", ".mbox", ".mbx", ".txt", ".eml"):
        name = name.removesuffix(ending)
    return name or "mailbox"


def _read_mbox(path: Path) -> Iterator[Content]:
    box = mailbox.mbox(path, create=False)
    try:
        for key in box.keys():  # noqa: SIM118 - iterating a mailbox parses each message
            from_line, _, content = box.get_bytes(key, from_=True).partition(b"\n")
            yield content, from_line
    finally:
        box.close()


def _read_gzip(path: Path) -> Iterator[Content]:
    with tempfile.TemporaryDirectory() as folder:
        unpacked = Path(folder) / "mbox"
        with gzip.open(path) as source, unpacked.open("wb") as target:
            shutil.copyfileobj(source, target)
        yield from _read_mbox(unpacked)


def _read_maildir(path: Path) -> Iterator[Content]:
    box = mailbox.Maildir(path, create=False)
    for key in sorted(box.keys()):
        yield box.get_bytes(key), b""


def _read_folder(path: Path) -> Iterator[Content]:
    for file in sorted(path.rglob("*.eml")):
        yield file.read_bytes(), b""
