"""Limits how much of a mailbox is read, and counts what was left out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from tapestry.errors import MailboxUnreadable
from tapestry.words import size_text

MIB, GIB = 2**20, 2**30
_CHUNK = 2**18


@dataclass(frozen=True)
class Limits:
    """Bounds for one mailbox; sizes are in bytes, of unpacked content.

    ``message``: a longer message is read up to there. ``headers``: of longer headers the rest is
    left out. ``total`` and ``messages``: a mailbox with more is not loaded at all, for half of a
    conversation would give wrong answers.
    """

    message: int = 256 * MIB
    headers: int = MIB
    total: int = 16 * GIB
    messages: int = 5_000_000


@dataclass
class Skipped:
    """Files of a Maildir or folder that were not read, by reason; of an mbox, bytes."""

    links: int = 0
    special: int = 0  # pipes, sockets, devices; folders where messages are expected
    unreadable: int = 0  # no permission, or gone before it was opened
    changed: int = 0  # written to while it was read
    deep: int = 0  # folders below the deepest that is looked into
    other: int = 0  # not named *.eml
    before: int = 0  # bytes of an mbox before its first message


class Stream(Protocol):
    """The interface of a source of bytes."""

    def read(self, size: int, /) -> bytes:
        """Return at most ``size`` bytes; none at the end."""


@dataclass
class MailboxReading:
    """One mailbox being read: its limits, what it took so far, what was skipped."""

    limits: Limits = field(default_factory=Limits)
    skipped: Skipped = field(default_factory=Skipped)
    size: int = 0
    names: int = 0
    texts: int = 0  # of a parquet file, unpacked

    def read(self, stream: Stream) -> bytes:
        """The next piece of a stream.

        Raises MailboxUnreadable once all of the mailbox's pieces are more than the limit.
        """
        piece = stream.read(_CHUNK)
        self.size += len(piece)
        if self.size > self.limits.total:
            raise MailboxUnreadable(
                f"it holds more than {size_text(self.limits.total)}, so nothing of it is loaded",
                hint="if that is what you expect of it, say --max-total with a greater size",
            )
        return piece

    def name(self) -> None:
        """Count a name in a folder; MailboxUnreadable beyond the limit of messages."""
        self.names += 1
        self.check_messages(self.names, "files")

    def check_messages(self, count: int, noun: str = "messages") -> None:
        """Raise MailboxUnreadable for more than the limit."""
        if count > self.limits.messages:
            raise MailboxUnreadable(
                f"it has more than {self.limits.messages:,} {noun}, so nothing of it is loaded",
                hint="if that is what you expect of it, say --max-messages with a greater number",
            )
