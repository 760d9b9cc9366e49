"""The documentation built as a site, once for all tests that look at it."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest
from mkdocs.commands.build import build
from mkdocs.config import load_config
from tests.docs.pages import ROOT


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make docs` builds it: a warning is an error."""
    os.environ["NO_MKDOCS_2_WARNING"] = "1"
    folder = tmp_path_factory.mktemp("site")
    warnings: list[str] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            warnings.append(record.getMessage())

    log = logging.getLogger("mkdocs")
    keep = Keep(logging.WARNING)
    log.addHandler(keep)
    try:
        config = load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder), strict=True)
        build(config)
    finally:
        log.removeHandler(keep)
    assert not warnings
    return folder
