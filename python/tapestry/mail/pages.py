"""Checks the unpacked size of each page of a parquet file before any is unpacked.

A file of some kilobytes can hold pages of two gibibytes, and every reader unpacks a page as a
whole. The size stands in the header before it: readers make room for just so much, and find a page
damaged that holds more. So the headers are read here, by themselves, as readers come upon them.
(What the file says at its end of sizes need not be so.)
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, BinaryIO

import pyarrow.parquet as pq

from tapestry.errors import MailboxUnreadable
from tapestry.mail.limits import MIB
from tapestry.words import size_text

PAGE = 128 * MIB
"""Bytes that a page may unpack to; most writers make pages of one mebibyte."""
PAGES = 2_000_000
"""Pages that are looked at."""
_HEADER = 2**16
"""Bytes of a header: statistics in it hold two values, which writers cut."""
_PREFIXES = 7
"""The encoding DELTA_BYTE_ARRAY, in which a text can repeat the one before for a few bytes."""
_DATA, _DATA_V2 = 5, 8
_DEEPEST = 8
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 12
_INTEGERS = (4, 5, 6)


def check_pages(file: BinaryIO, metadata: pq.FileMetaData, columns: Collection[str]) -> None:
    """Raise MailboxUnreadable for a page of one of the columns that is too large, or unreadable."""
    left, seen = PAGES, set[tuple[int, int]]()
    for group in range(metadata.num_row_groups):
        for number in range(metadata.num_columns):
            column = metadata.row_group(group).column(number)
            if column.path_in_schema.lower() not in columns or not column.num_values:
                continue
            start = column.data_page_offset
            if column.has_dictionary_page and 0 < (column.dictionary_page_offset or 0) < start:
                start = column.dictionary_page_offset
            chunk = (start, start + column.total_compressed_size)
            if chunk not in seen:
                seen.add(chunk)
                left = _check_chunk(file, *chunk, left)


def _check_chunk(file: BinaryIO, place: int, end: int, left: int) -> int:
    """Check the pages of a column in a group of rows; how many more may come."""
    while place < end:
        file.seek(place)
        header = _Header(file.read(_HEADER))
        page = header.struct()
        size, packed = page.get(2), page.get(3)
        if not isinstance(size, int) or not isinstance(packed, int) or min(size, packed) < 0:
            raise _damaged()
        if size > PAGE:
            raise MailboxUnreadable(
                f"a page of it unpacks to {size_text(size)}, more than {size_text(PAGE)}, so"
                " nothing of it is loaded",
                hint="write it with smaller pages: those of most writers have a mebibyte",
            )
        for kind, encoding in ((_DATA, 2), (_DATA_V2, 4)):
            values = page.get(kind)
            if isinstance(values, dict) and values.get(encoding) == _PREFIXES:
                raise MailboxUnreadable(
                    "its values are written in the encoding DELTA_BYTE_ARRAY",
                    hint="write it in another one: PLAIN or a dictionary, as most writers do",
                )
        left -= 1
        if left < 0:
            raise MailboxUnreadable(
                f"it has more than {PAGES:,} pages, so nothing of it is loaded",
                hint="write it with larger pages",
            )
        place += header.place + packed
    return left


def _damaged() -> MailboxUnreadable:
    return MailboxUnreadable(
        "it is no parquet file that can be read: the header of a page is damaged",
        hint="write it again, or load a copy that is whole",
    )


class _Header:
    """The header of a page, in Thrift's compact protocol."""

    def __init__(self, data: bytes) -> None:
        self.data, self.place = data, 0

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """The fields by their numbers: whole numbers and structures, of others that they are."""
        if depth > _DEEPEST:
            raise _damaged()
        found: dict[int, Any] = {}
        number = 0
        while kind := self.byte():
            delta, kind = kind >> 4, kind & 15
            number = number + delta if delta else self.integer()
            found[number] = self.value(kind, depth)
        return found

    def value(self, kind: int, depth: int) -> Any:
        """A field's value of this kind."""
        if kind in (_TRUE, _FALSE):
            return kind == _TRUE
        if kind in _INTEGERS:
            return self.integer()
        if kind == _STRUCT:
            return self.struct(depth + 1)
        if kind in (_LIST, _SET):
            return self.several(depth)
        if kind not in (_BYTE, _DOUBLE, _BINARY):
            raise _damaged()
        self.skip({_BYTE: 1, _DOUBLE: 8}.get(kind) or self.natural())
        return None

    def several(self, depth: int) -> None:
        """Go over a list."""
        first = self.byte()
        count, kind = first >> 4, first & 15
        for _ in range(self.natural() if count == 15 else count):
            if kind in (_TRUE, _FALSE):
                self.skip(1)  # in a list they have a byte each
            else:
                self.value(kind, depth + 1)

    def byte(self) -> int:
        """The next byte."""
        self.skip(1)
        return self.data[self.place - 1]

    def skip(self, count: int) -> None:
        """Go on by so many bytes."""
        self.place += count
        if self.place > len(self.data):
            raise _damaged()

    def natural(self) -> int:
        """A number without a sign, seven bits a byte."""
        found = shift = 0
        while True:
            byte = self.byte()
            found |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return found
            if shift > 63:
                raise _damaged()

    def integer(self) -> int:
        """A number with a sign: 0, -1, 1, -2, … in this order."""
        found = self.natural()
        return found >> 1 ^ -(found & 1)
