"""Options of the property tests, and the path to the judge."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

PART = 250
"""So many random queries a test: enough for the shares that are asked of each part."""

sys.path.insert(0, str(Path(__file__).parent))


def pytest_addoption(parser: pytest.Parser) -> None:
    """How many random queries, and which."""
    parser.addoption("--queries", type=int, default=150, help="random queries to judge")
    parser.addoption("--seed", type=int, default=0, help="where their numbering starts")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """``numbers``: those of the random queries, in parts that several processes can share."""
    if "numbers" not in metafunc.fixturenames:
        return
    queries = int(metafunc.config.getoption("--queries", 150))
    seed = int(metafunc.config.getoption("--seed", 0))
    if metafunc.function.__name__ != "test_rewritings_equal_the_definition":
        queries = max(queries // 4, 1)
    firsts = range(seed, seed + queries, PART)
    parts = [range(first, min(first + PART, seed + queries)) for first in firsts]
    if len(parts) > 1 and len(parts[-1]) < PART:  # a small part would have shares of its own
        last = parts.pop()
        parts[-1] = range(parts[-1].start, last.stop)
    metafunc.parametrize("numbers", parts, ids=[f"{p.start}-{p.stop - 1}" for p in parts])
