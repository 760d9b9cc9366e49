"""What the tests of runs share."""

from __future__ import annotations

import pytest
from tests.runs.fake_world import instead_of_spark


@pytest.fixture
def fake_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs meet a fake Delta where they would ask Spark."""
    instead_of_spark(monkeypatch)
