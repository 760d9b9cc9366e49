"""A project of a few files in a folder and a schema of its own, run in this process."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dbt.adapters.factory import reset_adapters


@contextmanager
def small_project(root: Path, files: Mapping[str, str], spark: Any, schema: str) -> Iterator[Any]:
    """Inside the project's folder, with an empty schema, which is dropped at the end."""
    for name, text in files.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text)
    before = Path.cwd()
    os.chdir(root)
    spark.sql(f"create schema {schema}")
    yield spark
    os.chdir(before)
    reset_adapters()
    spark.sql(f"drop schema {schema} cascade")
