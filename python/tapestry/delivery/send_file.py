"""A batch as one file: JSON lines, CSV or Parquet.

The name depends on the batch alone and the file appears under it when it is complete, so a batch
that is sent twice is there once.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tapestry.delivery.batch import Delivery
from tapestry.delivery.declare import FileSink
from tapestry.delivery.parquet import as_parquet
from tapestry.delivery.retry import Refused


def send_file(sink: FileSink, delivery: Delivery) -> Path:
    """Write the file and return its path; Refused where the folder does not take it."""
    folder = delivery.root / sink.path
    batch = delivery.batch
    name = f"{delivery.name}-{sink.name}-{batch.life[:8]}-{batch.m:08d}.{sink.format}"
    path = folder / name
    content = _content(sink.format, delivery)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _write(path, content)
    except OSError as error:
        raise Refused(f"{path} was not written: {error.strerror or error}") from error
    return path


def _content(kind: str, delivery: Delivery) -> bytes:
    if kind == "jsonl":
        return "".join(f"{row}\n" for row in delivery.rows).encode()
    if kind == "csv":
        return as_csv(delivery.rows, [name for name, _ in delivery.answers.columns]).encode()
    return as_parquet(delivery.rows, delivery.answers.columns)


def as_csv(rows: Sequence[str], columns: Sequence[str]) -> str:
    """CSV with a header; NULL is empty, a nested value is JSON.

    >>> as_csv(['{"a": 1, "b": null}', '{"a": 2, "b": {"c": "x"}}'], ["a", "b"])
    'a,b\\r\\n1,\\r\\n2,"{""c"": ""x""}"\\r\\n'
    """
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(columns)
    for row in rows:
        # Numbers stay as the engine wrote them: a decimal must not become a float.
        values = json.loads(row, parse_float=str, parse_int=str)
        writer.writerow([_cell(values.get(column)) for column in columns])
    return text.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, (dict, list)):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else value


def _write(path: Path, content: bytes) -> None:
    """Write aside, make durable, rename: nobody ever sees half of it."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with partial.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
