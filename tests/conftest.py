"""What all tests share: dbt's test fixtures, a browser, the order in which the folders run."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.seeds import header, seed

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytest_plugins = ["dbt.tests.fixtures.project"]

FOLDERS = ("sql", "property", "verification", "spark", "adapter", "dbt_runs")
"""Cheap and telling first; whatever is not listed comes last."""

TESTS = Path(__file__).parent
CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The system's Chromium, for the tests that look at a page as a person does."""
    from playwright.sync_api import sync_playwright

    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine (Debian: apt-get install chromium)")
    with sync_playwright() as playwright:
        # A test may run as root, in a container; the page is our own file.
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


def pytest_report_header() -> str:
    """Which seed the random tests have, and how to have it again."""
    return header()


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Hypothesis, too, begins where the commit says."""
    if config.getoption("hypothesis_seed", None) is None:
        config.option.hypothesis_seed = str(seed())


def _place(item: pytest.Item) -> int:
    folder = item.path.relative_to(TESTS).parts[0] if item.path.is_relative_to(TESTS) else ""
    return FOLDERS.index(folder) if folder in FOLDERS else len(FOLDERS)


OWN_JVMS = {"h2", "other_h2"}
"""Fixtures that start a JVM beside that of Spark."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Order the folders; the sort is stable, so the order inside a folder stays."""
    items.sort(key=_place)
    for item in items:
        if OWN_JVMS & {*getattr(item, "fixturenames", ())}:
            item.add_marker(pytest.mark.own_jvm)
