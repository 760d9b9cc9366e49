"""Small files are merged after some runs."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any

import pytest

from tapestry.runs.engine.session import Session
from tapestry.runs.protocol.confirm import tidy


@pytest.mark.parametrize(
    ("message", "level"),
    [("[DELTA_CONCURRENT_DELETE_READ] OPTIMIZE", "DEBUG"), ("[INTERNAL_ERROR]", "WARNING")],
)
def test_of_two_that_merge_files_at_once_none_minds(
    caplog: pytest.LogCaptureFixture, message: str, level: str
) -> None:
    class Merging(Session):
        def rows(self, sql: str) -> list[tuple[Any, ...]]:
            return []

        def run(self, sql: str) -> None:
            if sql.startswith("OPTIMIZE") and "tapestry_state" in sql:
                raise RuntimeError(message)

    row = SimpleNamespace(generation="g", n=100)
    planned: Any = SimpleNamespace(model=SimpleNamespace(relation="s.m"), row=row)
    with caplog.at_level(logging.DEBUG, logger="tapestry"):
        tidy(Merging(), planned, "s.tapestry_state")
    (said,) = caplog.records
    assert (said.levelname, message in said.getMessage()) == (level, True)
