"""The page in a real browser: it renders, says nothing into the console, lets nobody in."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page
from tests.marks import more
from tests.report.conftest import report_of
from tests.report.made_up import (
    HOSTILE,
    NAMES,
    NOW,
    bulletin_board,
    company,
    fail,
    kept,
    runs,
    well,
)

from tapestry.report.artifacts import Artifacts
from tapestry.report.judge import judge
from tapestry.report.make import Report
from tapestry.report.page import SQL_BUDGET
from tapestry.report.record import Record
from tapestry.report.summary import summary

Open = Callable[..., Page]

# The lines in which an element's text is shown.
LINES = """element => {
    const lines = [], walk = document.createTreeWalker(element, NodeFilter.SHOW_TEXT)
    let bottom = -1
    for (let node = walk.nextNode(); node; node = walk.nextNode())
        for (let at = 0; at < node.length; at++) {
            const range = document.createRange()
            range.setStart(node, at), range.setEnd(node, at + 1)
            const box = range.getBoundingClientRect()
            if (box.top >= bottom) lines.push(""), bottom = box.bottom
            lines[lines.length - 1] += node.data[at]
        }
    return lines
}"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Pages of four projects, made once."""
    made = {}
    records = {
        "company": company(),
        "board": bulletin_board(),
        "well": well(),
        "large": well(200, 50),
    }
    for name, rows in records.items():
        folder = tmp_path_factory.mktemp(name)
        made[name] = folder / "target" / "report.html"
        report_of(folder, *rows).write(made[name])
    return made


@pytest.fixture
def open_page(browser: Browser, pages: dict[str, Path]) -> Iterator[Open]:
    """Opens a page; at the end of the test nothing must have gone wrong in any of them."""
    contexts, complaints, requests = [], [], []

    def open_it(name: str, **how: Any) -> Page:
        context = browser.new_context(**how)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(dialog.message))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(pages[name].as_uri())
        return page

    yield open_it
    for context in contexts:
        context.close()
    assert complaints == []
    assert [url for url in requests if not url.startswith(("file:", "data:"))] == []


def test_the_first_screen_answers(open_page: Open) -> None:
    page = open_page("company", viewport={"width": 1280, "height": 800})
    heading = page.get_by_role("heading", level=1)
    assert "1 of 10 models is not well." in heading.inner_text()
    trouble = page.locator("#main .trouble").first
    assert trouble.bounding_box()["y"] < 500
    for words in ("shop.unanswered", "its last 4 runs failed", "9 hours ago", "What to do"):
        assert words in trouble.inner_text()
    assert page.title().startswith("✕ shop: 1 of 10")


def test_hostile_names_are_text(open_page: Open) -> None:
    page = open_page("company")
    assert page.locator("script").count() == 0
    assert page.locator("main img").count() == 0
    for name in NAMES:
        assert page.get_by_role("link", name=f"shop.{name}", exact=True).count() >= 1
    page.locator("details").evaluate_all("all => all.forEach(one => one.open = true)")
    assert page.get_by_text("{{ 7 * 7 }}").count() > 0
    assert HOSTILE in page.locator("main").inner_text()
    handlers = page.evaluate(
        "[...document.querySelectorAll('*')].filter(e => e.getAttributeNames()"
        ".some(n => n.startsWith('on'))).length"
    )
    assert handlers == 0
    links = page.locator("a").evaluate_all("all => all.map(one => one.getAttribute('href'))")
    assert {link[0] for link in links} == {"#"}


def test_each_run_says_what_it_changed_and_how_the_table_was_kept(tmp_path: Path) -> None:
    made = [*kept("s.kept", 6), *runs("s.added_to", 6)]
    report_of(tmp_path, made, []).write(tmp_path / "report.html")
    page = re.sub(r"\s+", " ", (tmp_path / "report.html").read_text("utf-8"))
    assert "<dt>kept</dt><dd>incremental</dd>" in page
    assert "full: HISTORY_GONE (shop.orders)</td>" in page
    assert "by what had changed" in page
    assert page.count('<th scope="col">how kept</th>') == 1  # of one model
    told = summary(report_of(tmp_path, made, []).verdict, "s")
    last = {one["model"]: one["last_run"] for one in told["models"]}
    assert (last["s.kept"]["inserted_rows"], last["s.kept"]["deleted_rows"]) == (5, 1)
    assert last["s.added_to"]["refresh"] is None


def test_characters_that_no_page_can_hold(tmp_path: Path) -> None:
    names = ["s.bell\x07\x00", "s.half\ud83d", "s.turned\u202egnihton", "s.\ufffe"]
    rows = [row for name in names for row in fail(runs(name, 3), 1, f"broke \x1b[31m{name}")]
    report_of(tmp_path, rows, []).write(tmp_path / "report.html")
    assert "4 of 4 models are not well." in (tmp_path / "report.html").read_text("utf-8")


def test_a_script_that_slipped_through_would_not_run(
    browser: Browser, pages: dict[str, Path], tmp_path: Path
) -> None:
    bad = tmp_path / "bad.html"
    html = pages["well"].read_text("utf-8")
    bad.write_text(html.replace("</main>", "<script>document.title = 'run'</script></main>"))
    page = browser.new_page()
    page.goto(bad.as_uri())
    assert page.title() != "run"
    page.close()


@pytest.mark.parametrize(
    ("name", "width"),
    [("company", 320), ("company", 375), ("company", 768), ("well", 375), ("large", 375)],
)
def test_a_phone_scrolls_down_only(open_page: Open, name: str, width: int) -> None:
    page = open_page(name, viewport={"width": width, "height": 812})
    page.locator("details").evaluate_all("all => all.forEach(one => one.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_phone_shows_the_newest_runs_first(open_page: Open) -> None:
    page = open_page("company", viewport={"width": 375, "height": 812})
    label = page.locator("figure.wide svg text", has_text="unanswered").bounding_box()
    assert 0 <= label["x"] < 375
    assert label["height"] > 7


def test_a_narrow_column_breaks_names_at_their_joints(open_page: Open) -> None:
    page = open_page("board", viewport={"width": 320, "height": 812})
    names = page.locator("tbody th a").evaluate_all(f"all => all.map({LINES})")
    broken = [lines for lines in names if len(lines) > 1]
    assert broken
    assert [lines for lines in broken if any(line[-1] not in "._" for line in lines[:-1])] == []


@pytest.mark.parametrize(
    ("name", "scheme"),
    [("company", "light"), more("company", "dark"), ("well", "dark"), more("well", "light")],
)
def test_accessibility(open_page: Open, scheme: str, name: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    page = open_page(name, color_scheme=scheme)
    page.locator("details").evaluate_all("all => all.forEach(one => one.open = true)")
    found = Axe().run(page).response["violations"]
    told = [(one["id"], one["nodes"][0]["html"][:200]) for one in found]
    assert not told, told


def _brightness(page: Page) -> float:
    color = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return sum(map(int, re.findall(r"\d+", color)[:3])) / 3


def test_light_dark_and_print(open_page: Open) -> None:
    light, dark = (open_page("well", color_scheme=scheme) for scheme in ("light", "dark"))
    assert _brightness(light) > 200
    assert _brightness(dark) < 60
    bar = "figure.card svg rect, figure.card svg path[fill^='var']"
    fills = [
        page.locator(bar).first.evaluate("one => getComputedStyle(one).fill")
        for page in (light, dark)
    ]
    assert fills[0] != fills[1], "the drawings follow"
    dark.emulate_media(media="print", color_scheme="dark")
    assert _brightness(dark) == 255
    assert dark.get_by_role("navigation").count() == 0
    assert len(light.pdf(format="A4")) > 10_000


def test_by_keyboard(open_page: Open) -> None:
    page = open_page("company")
    page.keyboard.press("Tab")
    focused = page.locator(":focus")
    assert focused.inner_text() == "Skip to the answer"
    assert focused.bounding_box()["x"] >= 0
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.keyboard.press("Tab")
    assert focused.inner_text() == "shop.unanswered"
    outline = focused.evaluate("one => getComputedStyle(one).outlineWidth")
    assert outline == "3px"
    page.keyboard.press("Enter")  # a link to a closed part opens it
    details = page.locator("details.model").first
    page.wait_for_function("document.querySelector('details.model').open")
    sql = details.locator("details.sql summary").last
    sql.focus()
    page.keyboard.press("Enter")
    assert details.locator("details.sql pre").last.is_visible()
    assert "INSERT INTO shop.unanswered" in details.locator("details.sql pre").last.inner_text()


def test_what_a_screen_reader_finds(open_page: Open) -> None:
    page = open_page("well")
    for role in ("banner", "main", "contentinfo", "navigation"):
        assert page.get_by_role(role).count() == 1
    levels = page.locator("h1, h2, h3").evaluate_all("all => all.map(one => one.tagName)")
    assert levels[0] == "H1"
    assert levels.count("H1") == 1
    drawings = page.locator("svg.plot")
    assert drawings.count() > 6
    for drawing in drawings.all():
        links = drawing.locator("a").count()
        assert drawing.get_attribute("role") == ("group" if links else "img")
        assert len(drawing.get_attribute("aria-label")) > 10
    for table in page.locator("table").all():
        assert table.locator("caption").count() == 1
        assert table.locator("th[scope=col]").count() > 1


def test_ten_thousand_runs(open_page: Open, pages: dict[str, Path], tmp_path: Path) -> None:
    began = time.monotonic()
    report = report_of(tmp_path, *well(200, 50))
    assert len(report.record.runs) == 10_000
    html = report.html()
    assert time.monotonic() - began < 60
    assert len(html.encode()) < 2_500_000
    page = open_page("large")
    assert "All 200 models are well." in page.get_by_role("heading", level=1).inner_text()
    assert page.locator("table", has_text="How each model stands").is_visible()
    assert page.locator("details.model").count() == 200
    assert page.evaluate("document.querySelectorAll('*').length") < 60_000


def test_ten_thousand_runs_of_one_model(tmp_path: Path) -> None:
    html = report_of(tmp_path, runs("s.m", 10_000), []).html()
    assert len(html) < 300_000


def test_long_sql_is_cut_and_says_so(tmp_path: Path) -> None:
    rows = runs("s.short", 2) + runs("s.long", 2, sql="x" * (2 * SQL_BUDGET))
    html = report_of(tmp_path, rows, []).html()
    assert len(html) < SQL_BUDGET + 300_000
    assert "Cut: it is long." in html
    assert "target/run/shop/models/m1.sql" in html
    assert "INSERT INTO s.short SELECT 1" in html


def test_an_empty_project_has_a_page_too(browser: Browser, tmp_path: Path) -> None:
    record = Record()
    report = Report(judge(record, Artifacts(), NOW), record, Artifacts(), "shop")
    report.write(tmp_path / "report.html")
    page = browser.new_page()
    page.goto((tmp_path / "report.html").as_uri())
    assert "No run is on record yet." in page.get_by_role("heading", level=1).inner_text()
    page.close()


def test_links_are_relative_and_work(browser: Browser, tmp_path: Path) -> None:
    docs = tmp_path / "target/great_expectations/data docs"
    docs.mkdir(parents=True)
    (docs / "index.html").write_text("<title>the docs</title>")
    report = report_of(tmp_path, *well(2, 3))
    report.write(tmp_path / "elsewhere/report.html")
    page = browser.new_page()
    page.goto((tmp_path / "elsewhere/report.html").as_uri())
    page.get_by_role("link", name="Data Docs").click()
    assert page.title() == "the docs"
    page.close()
