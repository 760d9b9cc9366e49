"""The parts of the tests: each test is in exactly one, by its folder, its fixtures and its marks.

`pytest tests --part quick` runs one of them (or several, with commas). `make test` runs the first
three, which are the gate; `make test-all` all four. What has no mark and needs no Spark is in the
gate by itself; a file with Spark comes in by the mark `gate`.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import pytest
from tools.judged import JUDGES

TESTS = Path(__file__).parent
PARTS = {
    "judges": "judge the rewriting: random queries, mutants (tools/judged.py says how many now)",
    "quick": "need no Spark: they run on all processors",
    "spark": "the gate's tests with Spark (mark `gate`)",
    "outside": "all others: make test-all",
}
WITHOUT_SPARK = frozenset({"judges", "quick"})
SPARK_FOLDERS = ("spark", "dbt_runs", "adapter/conformance")
SPARK_FIXTURES = frozenset({"spark", "embedded_spark"})
OWN_JVMS = frozenset({"h2", "other_h2"})
"""Fixtures that start a JVM beside that of Spark."""
OUTSIDE = frozenset({"more", "own_jvm", "tutorial", "conformance"})
"""Marks of what the gate does not run."""


def part(place: str, marks: Collection[str], fixtures: Collection[str]) -> str:
    """The part of a test, by its file's place below ``tests``, its marks and its fixtures."""
    if OUTSIDE.intersection(marks) or OWN_JVMS.intersection(fixtures):
        return "outside"
    if _with_spark(place) or "spark" in marks or SPARK_FIXTURES.intersection(fixtures):
        return "spark" if "gate" in marks else "outside"
    return "judges" if _judges(place) else "quick"


def part_of(item: pytest.Item) -> str:
    """The part of a collected test."""
    marks = {mark.name for mark in item.iter_markers()}
    return part(_place(item.path), marks, getattr(item, "fixturenames", ()))


def is_test_file(path: Path) -> bool:
    """pytest's own pattern."""
    return path.name.startswith("test_") and path.suffix == ".py"


def is_empty(path: Path, parts: Collection[str]) -> bool:
    """No test of the file can be in these parts: it need not be imported to see that."""
    place = _place(path)
    may = {"outside", "judges" if _judges(place) else "quick"}
    if _with_spark(place):
        may = {"outside"}
    if "mark.gate" in path.read_text("utf-8"):
        may.add("spark")
    return may.isdisjoint(parts)


def _place(path: Path) -> str:
    return path.relative_to(TESTS).as_posix() if path.is_relative_to(TESTS) else path.name


def _with_spark(place: str) -> bool:
    return place.startswith(tuple(f"{folder}/" for folder in SPARK_FOLDERS))


def _judges(place: str) -> bool:
    return any(f"tests/{place}" == one or f"tests/{place}".startswith(f"{one}/") for one in JUDGES)
