"""A parquet file of rows that somebody gave, copied to a name of our own."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tapestry.errors import MailboxUnreadable
from tapestry.mail.files import open_given
from tapestry.mail.limits import Limits, MailboxReading
from tapestry.mail.pages import check_pages
from tapestry.mail.read import unchanged
from tapestry.mail.stage import COLUMNS
from tapestry.words import printable, size_text

_ROWS = 20_000
_FIXED = 32
"""Bytes: no number and no time is longer."""


def stage_parquet(path: Path, target: Path, limits: Limits | None = None) -> None:
    """Copy a parquet file, so that no name and no content that may change meets Spark.

    Raises MailboxUnreadable for what is no parquet file, and for more than the limits.
    """
    reading = MailboxReading(limits or Limits())
    descriptor = open_given(path)
    if stat.S_ISDIR(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise MailboxUnreadable("it is a folder", hint="give the parquet files in it, each by name")
    with os.fdopen(descriptor, "rb") as file, target.open("wb") as copy, unchanged(file):
        while piece := reading.read(file):
            copy.write(piece)
    _check(target, reading)


def _check(path: Path, reading: MailboxReading) -> None:
    try:
        with pq.ParquetFile(path) as file:
            reading.check_messages(file.metadata.num_rows, "rows")
            texts = _texts(file)
            with path.open("rb") as pages:
                check_pages(pages, file.metadata, {name.lower() for name in COLUMNS.names})
        for text in texts:
            _check_text(path, text, reading)
    except (pa.ArrowException, OSError) as error:
        why = str(error).split("\n", 1)[0]
        raise MailboxUnreadable(
            f"it is no parquet file: {why}", hint="name a mailbox otherwise than .parquet"
        ) from error


def _texts(file: pq.ParquetFile) -> list[str]:
    """The columns of the table that hold texts in the file.

    Raises MailboxUnreadable for one whose values can be of any size and are no text.
    """
    found = []
    for number in range(file.metadata.num_columns):
        column = file.metadata.schema.column(number)
        name = column.path.partition(".")[0]
        if name.lower() not in COLUMNS.names:
            continue
        of_any_size = column.path != name or column.max_repetition_level > 0
        if of_any_size or column.length > _FIXED:
            raise MailboxUnreadable(
                f"its column {printable(name[:100])} holds lists, structures or long binary values",
                hint="write texts, numbers and times: the types of the messages table",
            )
        if column.physical_type == "BYTE_ARRAY":
            found.append(name)
    return found


def _check_text(path: Path, text: str, reading: MailboxReading) -> None:
    """Add up how long the texts of a column are: of one, since each unpacks a page of its own.

    What the file says of its size need not be so, and a text that many rows share stands in it
    once: a file of 700 KB can hold a tebibyte. So shared texts are left shared here.
    """
    with pq.ParquetFile(path, read_dictionary=[text]) as file:
        for batch in file.iter_batches(_ROWS, columns=[text]):
            column = batch.column(0)
            lengths = pc.binary_length(getattr(column, "dictionary", column)).cast(pa.int64())
            if isinstance(column, pa.DictionaryArray):
                lengths = lengths.take(column.indices)
            reading.texts += pc.sum(lengths).as_py() or 0
            _check_longest(pc.max(lengths).as_py() or 0, reading.limits.message)
            if reading.texts > reading.limits.total:
                raise MailboxUnreadable(
                    f"it holds more than {size_text(reading.limits.total)} of text, so nothing of"
                    " it is loaded",
                    hint="if that is what you expect of it, say --max-total with a greater size",
                )


def _check_longest(length: int, limit: int) -> None:
    if length > limit:
        raise MailboxUnreadable(
            f"it holds a text of {size_text(length)}, so nothing of it is loaded",
            hint="if that is what you expect of it, say --max-message with a greater size",
        )
