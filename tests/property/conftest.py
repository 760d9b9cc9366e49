"""Options of the property tests, and the path to the judge.

Random queries are numbered from the commit's seed on (``tests/seeds.py``), or from ``--seed``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.seeds import seed

PART = 125
"""So many random queries a test, at least: two processes share what the gate asks for."""

sys.path.insert(0, str(Path(__file__).parent))


def pytest_addoption(parser: pytest.Parser) -> None:
    """How many random queries, and which."""
    parser.addoption("--queries", type=int, default=150, help="random queries to judge")
    parser.addoption("--seed", type=int, default=seed(), help="where their numbering starts")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """``numbers``: those of the random queries, in parts that several processes can share."""
    if "numbers" not in metafunc.fixturenames:
        return
    queries = int(metafunc.config.getoption("--queries", 150))
    start = int(metafunc.config.getoption("--seed", seed()))
    if metafunc.function.__name__ != "test_rewritings_equal_the_definition":
        queries = max(queries // 4, 1)
    firsts = range(start, start + queries, PART)
    parts = [range(first, min(first + PART, start + queries)) for first in firsts]
    if len(parts) > 1 and len(parts[-1]) < PART:  # a small part would have shares of its own
        last = parts.pop()
        parts[-1] = range(parts[-1].start, last.stop)
    metafunc.parametrize("numbers", parts, ids=[f"{p.start}-{p.stop - 1}" for p in parts])
