"""The first query that a reader meets is the same on each page that greets newcomers."""

from __future__ import annotations

import pytest
from tests.docs.pages import ROOT, Part, parts

PAGES = ("README.md", "docs/index.md", "docs/tutorial/index.md", "docs/how-to/unit-tests.md")


def _first(page: str, language: str, title: str) -> Part:
    found = [p for p in parts(ROOT / page) if p.language == language and p.title == title]
    assert found, f"{page} shows no {title}"
    return found[0]


@pytest.mark.parametrize("page", PAGES)
def test_the_first_query_is_the_same(page: str) -> None:
    shown = next(part for part in parts(ROOT / page) if part.language == "sql")
    assert shown.text == _first(PAGES[0], "sql", "models/unanswered.sql").text


@pytest.mark.parametrize("page", PAGES)
def test_and_so_is_what_its_source_says(page: str) -> None:
    shown = _first(page, "yaml", "models/sources.yml")
    assert shown.text == _first(PAGES[0], "yaml", "models/sources.yml").text
