"""The numbers of the random queries, and the path to the judge.

They begin at the commit's seed (``tests/seeds.py``), or at ``--seed``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

PART = 125
"""So many random queries a test, at least: two processes share what the gate asks for."""

sys.path.insert(0, str(Path(__file__).parent))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """``numbers``: those of the random queries, in parts that several processes can share."""
    if "numbers" not in metafunc.fixturenames:
        return
    queries = int(metafunc.config.getoption("--queries"))
    start = int(metafunc.config.getoption("--seed"))
    if metafunc.function.__name__ != "test_rewritings_equal_the_definition":
        queries = max(queries // 4, 1)
    firsts = range(start, start + queries, PART)
    parts = [range(first, min(first + PART, start + queries)) for first in firsts]
    if len(parts) > 1 and len(parts[-1]) < PART:  # a small part would have shares of its own
        last = parts.pop()
        parts[-1] = range(parts[-1].start, last.stop)
    metafunc.parametrize("numbers", parts, ids=[f"{p.start}-{p.stop - 1}" for p in parts])
