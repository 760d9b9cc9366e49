"""Options of the property tests, and the path to the judge."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


def pytest_addoption(parser: pytest.Parser) -> None:
    """How many random queries, and which."""
    parser.addoption("--queries", type=int, default=150, help="random queries to judge")
    parser.addoption("--seed", type=int, default=0, help="where their numbering starts")


@pytest.fixture
def queries(request: pytest.FixtureRequest) -> int:
    """How many random queries."""
    return int(request.config.getoption("--queries", 150))


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """The number of the first one."""
    return int(request.config.getoption("--seed", 0))
