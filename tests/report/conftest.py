"""A browser for the tests that look at the page as a person does."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright
from tests.report.made_up import NOW, Row, write_target

from tapestry.report.artifacts import read_artifacts
from tapestry.report.judge import judge
from tapestry.report.make import Report
from tapestry.report.record import Record

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The system's Chromium."""
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine (Debian: apt-get install chromium)")
    with sync_playwright() as playwright:
        # A test may run as root, in a container; the page is our own file.
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


def report_of(folder: Path, runs: list[Row], checks: list[Row], *, project: str = "shop") -> Report:
    """The report of made-up rows, with dbt's target folder beside it."""
    models = list(dict.fromkeys(row["model"] for row in runs))
    artifacts = read_artifacts(write_target(folder / "target", models, project=project))
    sql = {row["model"]: row["sql"] for row in runs}
    record = Record.from_rows(runs, checks, sql)
    schema = models[0].partition(".")[0] if models else project
    return Report(judge(record, artifacts, NOW), record, artifacts, schema)
