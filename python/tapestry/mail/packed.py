"""A parquet file of rows that somebody gave, copied to a name of our own."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tapestry.errors import MailboxUnreadable
from tapestry.mail.files import open_given
from tapestry.mail.limits import Limits, Reading
from tapestry.mail.read import unchanged
from tapestry.words import size_text


def stage_parquet(path: Path, target: Path, limits: Limits | None = None) -> None:
    """Copy a parquet file, so that no name and no content that may change meets Spark.

    Raises MailboxUnreadable for what is no parquet file, and for more than the limits.
    """
    reading = Reading(limits or Limits())
    descriptor = open_given(path)
    if stat.S_ISDIR(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise MailboxUnreadable("it is a folder", hint="give the parquet files in it, each by name")
    with os.fdopen(descriptor, "rb") as file, target.open("wb") as copy, unchanged(file):
        while piece := reading.read(file):
            copy.write(piece)
    _check(target, reading)


def _check(path: Path, reading: Reading) -> None:
    try:
        told = pq.read_metadata(path)
        groups = [told.row_group(number).total_byte_size for number in range(told.num_row_groups)]
    except (pa.ArrowException, OSError) as error:
        why = str(error).split("\n", 1)[0]
        raise MailboxUnreadable(
            f"it is no parquet file: {why}", hint="name a mailbox otherwise than .parquet"
        ) from error
    reading.check_messages(told.num_rows, "rows")
    if sum(groups) > reading.limits.total:
        raise MailboxUnreadable(
            f"it holds {size_text(sum(groups))} unpacked, so nothing of it is loaded",
            hint="if that is what you expect of it, say --max-total with a greater size",
        )
