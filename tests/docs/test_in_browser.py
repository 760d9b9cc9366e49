"""Pages of the site as a person sees them: readable in both schemes, on a phone, from files."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser
from tests.marks import more

PAGES = (
    "index",
    "tutorial/index",
    "how-to/late-data",
    "explanation/costs",
    "reference/glossary",
    "reference/limitations/queries",
    "reference/config",
    "explanation/theory/first_instant",
)
GRAVE = ("serious", "critical")


@pytest.mark.parametrize("scheme", ["light", more("dark")])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_accessible(site: Path, browser: Browser, name: str, scheme: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    page = browser.new_page(color_scheme=scheme)  # type: ignore[arg-type]
    page.goto((site / f"{name}.html").as_uri())
    found = Axe().run(page).response["violations"]
    page.close()
    told = [f"{one['id']}: {one['nodes'][0]['html']}" for one in found if one["impact"] in GRAVE]
    assert not told


@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_a_phone_and_asks_nobody(site: Path, browser: Browser, name: str) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 844})
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto((site / f"{name}.html").as_uri())
    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    shown = page.locator("article").inner_text()
    page.close()
    assert wide <= 0
    assert len(shown) > 500
    assert not [url for url in asked if url.startswith("http")]
