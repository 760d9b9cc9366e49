"""What all tests share: dbt's fixtures, Spark for them, a browser, the order of the folders."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.durations import Durations
from tests.parts import OWN_JVMS, PARTS, WITHOUT_SPARK, is_empty, is_test_file, part_of
from tests.seeds import header, seed
from tests.small_data import SMALL_DATA

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from pyspark.sql import SparkSession

pytest_plugins = ["dbt.tests.fixtures.project"]

FOLDERS = ("sql", "property", "verification", "spark", "adapter", "dbt_runs")
"""Cheap and telling first; whatever is not listed comes last."""

TESTS = Path(__file__).parent
CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)


@pytest.fixture(scope="session")
def embedded_spark(tmp_path_factory: pytest.TempPathFactory) -> SparkSession:
    """The process's Spark; whichever folder of tests comes first has started it."""
    from dbt.adapters.tapestry import embedded

    return embedded.start(SMALL_DATA, root=tmp_path_factory.mktemp("spark"))


@pytest.fixture(scope="session")
def warehouse(embedded_spark: SparkSession) -> Path:
    """The folder under which the tables of all test classes lie."""
    return Path(str(embedded_spark.conf.get("spark.sql.warehouse.dir")).removeprefix("file:"))


@pytest.fixture(scope="class")
def dbt_profile_target(warehouse: Path) -> dict[str, Any]:
    """What the `project` fixture of dbt writes to profiles.yml; it adds the schema."""
    return {
        "type": "tapestry",
        "method": "session",
        "threads": 2,
        "server_side_parameters": {"spark.sql.warehouse.dir": str(warehouse)},
    }


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
    """Hypothesis, too, begins where the commit says; a run of parts keeps its durations."""
    if chosen := _chosen(config):
        config.pluginmanager.register(Durations(config, "-".join(chosen)), "durations")
    if config.getoption("hypothesis_seed", None) is None:
        config.option.hypothesis_seed = str(seed())


def pytest_addoption(parser: pytest.Parser) -> None:
    """Some parts of the tests (``tests/parts.py``); how many random queries, and which."""
    parser.addoption("--part", help=f"parts of the tests, with commas: {', '.join(PARTS)}")
    parser.addoption("--queries", type=int, default=150, help="random queries to judge")
    parser.addoption("--seed", type=int, default=seed(), help="where their numbering starts")


def _chosen(config: pytest.Config) -> list[str]:
    chosen = [part for part in (config.getoption("--part") or "").split(",") if part]
    if unknown := set(chosen) - PARTS.keys():
        raise pytest.UsageError(f"no such part: {', '.join(sorted(unknown))}")
    return chosen


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not import what has no test of the chosen parts."""
    chosen = _chosen(config)
    file = chosen and is_test_file(collection_path)
    return True if file and is_empty(collection_path, chosen) else None


def _place(item: pytest.Item) -> int:
    folder = item.path.relative_to(TESTS).parts[0] if item.path.is_relative_to(TESTS) else ""
    return FOLDERS.index(folder) if folder in FOLDERS else len(FOLDERS)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Take the chosen parts; order the folders, or begin with what took longest.

    Sorts are stable, so the order inside a file stays.
    """
    items.sort(key=_place)
    for item in items:
        if OWN_JVMS.intersection(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.own_jvm)
    chosen = _chosen(config)
    if not chosen:
        return
    left = [item for item in items if part_of(item) not in chosen]
    items[:] = [item for item in items if part_of(item) in chosen]
    config.hook.pytest_deselected(items=left)
    if WITHOUT_SPARK.issuperset(chosen):  # the others have one process
        config.pluginmanager.get_plugin("durations").longest_first(items)
