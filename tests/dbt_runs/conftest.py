"""The instant of the runs of dbt inside the test process."""

from __future__ import annotations

from collections.abc import Callable

import pytest


@pytest.fixture
def as_of(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Set the instant of the next invocations."""
    return lambda text: monkeypatch.setenv("TAPESTRY_AS_OF", text)
