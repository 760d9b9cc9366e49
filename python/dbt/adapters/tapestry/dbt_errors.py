"""Errors of ours as dbt shows them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from dbt_common.exceptions import DbtRuntimeError

from tapestry.errors import TapestryError


@contextmanager
def dbt_errors() -> Iterator[None]:
    """Raise our errors as dbt's: with their lines, without a traceback."""
    try:
        yield
    except TapestryError as error:
        raise DbtRuntimeError(str(error)) from error
