"""The path to the judge of the property tests: its random queries and its brute force."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "property"))


@pytest.fixture
def queries(request: pytest.FixtureRequest) -> int:
    """How many random queries: a twelfth of ``--queries``, of which each run is checked often."""
    return max(int(request.config.getoption("--queries")) // 12, 10)


@pytest.fixture
def first(request: pytest.FixtureRequest) -> int:
    """The number of the first one: the commit's (``tests/seeds.py``), or ``--seed``."""
    return int(request.config.getoption("--seed"))
