"""Splits an mbox while it is read, as Python's ``mailbox.mbox`` does, in one pass.

That class holds a whole line, a whole message and the places of all messages in memory, and needs a
file that it can go back in: a packed archive would have to be unpacked first.
"""

from __future__ import annotations

from collections.abc import Iterator

from tapestry.mail.content import Collector, Content
from tapestry.mail.limits import MailboxReading, Stream

_SEPARATOR = b"\nFrom "
_KEPT = len(_SEPARATOR)
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_FROM_LINE = 1024


def split_mbox(stream: Stream, reading: MailboxReading) -> Iterator[Content]:
    """The messages of an mbox: each line that begins with ``From `` begins one.

    What stands before the first such line is no message, and is counted; a byte order mark, as
    editors write it, is left out. The empty line before the next is not part of a message.
    """
    window = _Window(stream, reading)
    window.skip_mark()
    message: Collector | None = None
    while True:
        found = window.find(_SEPARATOR)
        while found < 0 and window.more(message):
            found = window.find(_SEPARATOR)
        if message:
            window.give(message, found + 1 if found >= 0 else None)
            yield message.content()
        if found < 0:
            return
        if message is None:
            reading.skipped.before = window.before(found)
        message = Collector(reading.limits, window.take_line(found + 1))


class _Window:
    """A part of the stream; its first byte is the one before what has not been given away yet."""

    def __init__(self, stream: Stream, reading: MailboxReading) -> None:
        self._stream, self._reading = stream, reading
        self._bytes, self._at = b"\n", 0
        self._searched = 0
        self._gone, self._blank = 0, True

    def skip_mark(self) -> None:
        """Leave out the mark that the stream begins with, if it does before a ``From `` line."""
        first = _BYTE_ORDER_MARK + _SEPARATOR[1:]
        while len(self._bytes) <= len(first) and (piece := self._reading.read(self._stream)):
            self._bytes += piece
        if self._bytes.startswith(first, 1):
            self._bytes = b"\n" + self._bytes[1 + len(_BYTE_ORDER_MARK) :]

    def before(self, found: int) -> int:
        """Return the number of bytes before a place, none given away; 0 if all are blank."""
        blank = self._blank and not self._bytes[self._at + 1 : found + 1].strip()
        return 0 if blank else self._gone + found - self._at

    def find(self, text: bytes) -> int:
        found = self._bytes.find(text, max(self._at, self._searched))
        self._searched = found if found >= 0 else max(0, len(self._bytes) - _KEPT)
        return found

    def more(self, message: Collector | None) -> bool:
        """Read on, and give away what cannot be the end of a message; False at the end."""
        piece = self._reading.read(self._stream)
        if not piece:
            return False
        end = len(self._bytes) - _KEPT
        if end > self._at:
            given = self._bytes[self._at + 1 : end + 1]
            if message:
                message.add(given)
            else:
                self._gone += len(given)
                self._blank = self._blank and not given.strip()
            self._at = end
        self._bytes, self._searched = (
            self._bytes[self._at :] + piece,
            max(0, self._searched - self._at),
        )
        self._at = 0
        return True

    def give(self, message: Collector, end: int | None) -> None:
        """Add the rest of a message, up to ``end``, without the empty line that ends it."""
        rest = self._bytes[self._at : end]
        message.add(rest[1:-1] if rest.endswith(b"\n\n") else rest[1:])

    def take_line(self, begin: int) -> bytes:
        """A line, and the window stands at its end; of a long line only the beginning is kept."""
        self._at = begin - 1
        line = b""
        while (end := self._bytes.find(b"\n", self._at + 1)) < 0:
            line += self._bytes[self._at + 1 :][: _FROM_LINE - len(line)]
            self._at = len(self._bytes) - 1
            if not self.more(None):
                return line
        line += self._bytes[self._at + 1 : end][: _FROM_LINE - len(line)]
        self._at = self._searched = end
        return line
