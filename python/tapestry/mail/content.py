"""The content of a message without its body, from which a row is made, in bounded memory."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from tapestry.mail.limits import Limits, MailboxReading, Stream

_BLANK_LINE = re.compile(rb"\n\r{0,2}\n")
"""The end of the headers; a line that ends with ``\\r\\r\\n`` went through two programs that each
added a ``\\r``."""


@dataclass(frozen=True)
class Content:
    """The bytes of the headers, and of the body its length only.

    ``digest`` tells messages apart. ``cut``: the headers were longer than their limit; ``long``:
    the message was.
    """

    head: bytes
    body_bytes: int
    digest: str
    from_line: bytes = b""
    cut: bool = False
    long: bool = False


class Collector:
    """Collects pieces of a message, given one after the other, to its content."""

    def __init__(self, limits: Limits, from_line: bytes = b"") -> None:
        self._limits, self._from_line = limits, from_line
        self._head, self._body_bytes, self._in_head = bytearray(), 0, True
        self._size, self._digest = 0, hashlib.sha256()
        self._last = b"\n"  # so that a message that begins with a blank line has no headers
        self.long = False

    def add(self, piece: bytes) -> None:
        """The next piece; what is beyond the limit of a message is dropped."""
        room = self._limits.message - self._size
        if len(piece) > room:
            self.long, piece = True, piece[:room]
        self._size += len(piece)
        self._digest.update(piece)
        if not self._in_head:
            self._body_bytes += len(piece)
            return
        seen = self._last + piece
        blank = _BLANK_LINE.search(seen)
        end = blank.end() - len(self._last) if blank else len(piece)
        self._head += piece[: min(end, self._limits.headers + 1 - len(self._head))]
        self._in_head = blank is None
        self._body_bytes += len(piece) - end
        self._last = seen[-3:]

    def content(self) -> Content:
        """Return the content of the collected pieces."""
        return Content(
            bytes(self._head[: self._limits.headers]),
            self._body_bytes if not self._in_head else 0,
            self._digest.hexdigest()[:24],
            self._from_line,
            len(self._head) > self._limits.headers,
            self.long,
        )


def read_content(stream: Stream, reading: MailboxReading) -> Content:
    """A stream that is one message; not read further than a message may be long."""
    collector = Collector(reading.limits)
    while not collector.long and (piece := reading.read(stream)):
        collector.add(piece)
    return collector.content()
