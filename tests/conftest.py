"""What all tests share: dbt's test fixtures, and the order in which the folders run."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest_plugins = ["dbt.tests.fixtures.project"]

FOLDERS = ("sql", "property", "verification", "spark", "adapter", "dbt_runs")
"""Cheap and telling first; whatever is not listed comes last."""

TESTS = Path(__file__).parent


def _place(item: pytest.Item) -> int:
    folder = item.path.relative_to(TESTS).parts[0] if item.path.is_relative_to(TESTS) else ""
    return FOLDERS.index(folder) if folder in FOLDERS else len(FOLDERS)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Order the folders; the sort is stable, so the order inside a folder stays."""
    items.sort(key=_place)
