"""Writes a batch as one file: JSON lines, CSV or Parquet.

The name depends on the batch alone and the file appears under it when it is complete, so a batch
that is sent twice is there once.
"""

from __future__ import annotations

import math
import time
from pathlib import Path

from tapestry.delivery.batch import Delivery
from tapestry.delivery.csv_text import as_csv
from tapestry.delivery.declare import FileSink
from tapestry.delivery.parquet import as_parquet
from tapestry.delivery.retry import Refused
from tapestry.delivery.visible_text import file_name
from tapestry.whole_file import write_whole


def send_file(sink: FileSink, delivery: Delivery, deadline: float = math.inf) -> Path:
    """Write the file and return its path; Refused where the folder does not take it.

    Nothing appears after ``deadline`` (of ``time.monotonic``): whoever waited has given up.
    """
    folder = delivery.root / sink.path
    batch = delivery.batch
    name = f"{file_name(delivery.name)}-{sink.name}-{batch.life[:8]}-{batch.m:08d}.{sink.format}"
    path = folder / name
    content = _content(sink, delivery)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(path, content, lambda: _in_time(path, deadline))
    except OSError as error:
        raise Refused(f"{path} was not written: {error.strerror or error}") from error
    return path


def _content(sink: FileSink, delivery: Delivery) -> bytes:
    if sink.format == "jsonl":
        return "".join(f"{row}\n" for row in delivery.rows).encode("utf-8", "replace")
    if sink.format == "csv":
        names = [name for name, _ in delivery.answers.columns]
        text = as_csv(delivery.rows, names, spreadsheet_safe=sink.spreadsheet_safe)
        return text.encode("utf-8", "replace")
    return as_parquet(delivery.rows, delivery.answers.columns)


def _in_time(path: Path, deadline: float) -> None:
    if time.monotonic() > deadline:
        raise Refused(f"{path} was not written in time")
