"""The path to the judge of the property tests: its random queries and its brute force."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "property"))


@pytest.fixture
def queries(request: pytest.FixtureRequest) -> int:
    """How many random queries: ``--queries``, where the property tests have registered it."""
    return int(request.config.getoption("--queries", 60))


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """The number of the first one."""
    return int(request.config.getoption("--seed", 0))
