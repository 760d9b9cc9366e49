"""Runs that end at a point, as when their process is killed there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from types import ModuleType
from typing import Any

import pytest

from tapestry.instants import now_utc
from tapestry.runs.kinds.action import perform
from tapestry.runs.protocol import crash, plan


class Killed(BaseException):
    """No handler of ours catches this: the run ends where it is, as when the process is killed."""


@contextmanager
def killed_at(name: str, module: ModuleType = crash) -> Iterator[None]:
    """Kill what runs inside where it comes to a point; at "claimed" all runs claim."""

    def point(here: str) -> None:
        if here == name:
            raise Killed(here)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "point", point)
        if name == "claimed":
            patch.setattr(plan, "written_in_note", lambda _: None)
        with pytest.raises(Killed):
            yield


@contextmanager
def killed_before(session: Any, text: str) -> Iterator[None]:
    """Kill what runs inside before a statement that has a text."""
    plain = session.run

    def run(sql: str) -> None:
        if text in sql:
            raise Killed(sql)
        plain(sql)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session, "run", run)
        with pytest.raises(Killed):
            yield


def end_leases(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let an hour pass for actions: what a killed run has claimed is free again."""
    monkeypatch.setattr(perform, "now_utc", lambda: now_utc() + timedelta(hours=1))
