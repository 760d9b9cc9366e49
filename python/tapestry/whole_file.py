"""Writes files that appear completely or not at all: no reader sees a part of one."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path


def write_whole(path: Path, content: bytes, ready: Callable[[], None] = lambda: None) -> None:
    """Write aside, make durable, rename; its folder is there.

    ``ready`` is called just before the file gets its name; where it raises, the file does not.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    partial.unlink(missing_ok=True)
    try:
        # A new file, whatever stands there: no link is followed, no pipe is waited for.
        with partial.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        ready()
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
