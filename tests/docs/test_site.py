"""The site builds without a warning, its links lead somewhere, it loads nothing from elsewhere."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from markdown_it import MarkdownIt
from tests.docs.pages import ROOT

LOADING = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}
HEADING = re.compile(r"^#+ (.*)$", flags=re.MULTILINE)


class _Page(HTMLParser):
    """What a page names: its anchors, its links, what the browser loads for it, and how deep each
    item of its lists lies.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.open: list[str] = []
        self.items: list[int] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag in ("article", "ul", "ol"):
            self.open.append(tag)
        if tag == "li" and self.open[:1] == ["article"]:
            self.items.append(len(self.open) - 1)
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag in LOADING and given.get("rel") not in ("canonical", "prev", "next"):
            self.loaded.append(given.get(LOADING[tag], ""))

    def handle_endtag(self, tag: str) -> None:
        if tag in ("article", "ul", "ol") and tag in self.open:
            while self.open.pop() != tag:
                pass


@pytest.fixture(scope="module")
def built(site: Path) -> dict[Path, _Page]:
    return {path: _Page(path.read_text("utf-8")) for path in sorted(site.rglob("*.html"))}


def test_every_link_of_the_site_leads_somewhere(site: Path, built: dict[Path, _Page]) -> None:
    broken = []
    for path, page in built.items():
        if path.name == "404.html":
            continue
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.exists():
                broken.append(f"{path.relative_to(site)}: {link}")
            elif parts.fragment and target in built:
                anchor = unquote(parts.fragment)
                if anchor not in built[target].anchors and anchor != "__skip":
                    broken.append(f"{path.relative_to(site)}: {link}")
    assert not broken
    assert len(built) > 20


def test_nothing_is_loaded_from_elsewhere(site: Path, built: dict[Path, _Page]) -> None:
    assert not [url for page in built.values() for url in page.loaded if urlsplit(url).netloc]
    for sheet in site.rglob("*.css"):
        assert not re.search(r"(url\(|@import )[\"']?(https?:)?//", sheet.read_text("utf-8")), sheet


def test_lists_are_lists_on_the_site_too(site: Path, built: dict[Path, _Page]) -> None:
    """The site's Markdown wants an empty line before a list and four spaces before an inner one."""
    seen = 0
    for page in sorted((ROOT / "docs").rglob("*.md")):
        html = MarkdownIt("commonmark").render(page.read_text("utf-8"))
        meant = _Page(f"<article>{html}</article>").items
        path = site / page.relative_to(ROOT / "docs").with_suffix(".html")
        assert built[path].items == meant, path
        seen += len(meant)
    assert seen > 100


def test_equations_are_drawn_without_a_script(site: Path) -> None:
    text = (site / "explanation/theory/index.html").read_text("utf-8")
    assert text.count("<math") >= 3
    for path in site.rglob("*.html"):
        assert "arithmatex" not in path.read_text("utf-8"), path


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_links_of_the_pages_outside_the_site(name: str) -> None:
    tokens = MarkdownIt("commonmark").parse((ROOT / name).read_text("utf-8"))
    inside = [child for token in tokens for child in token.children or ()]
    links = [str(t.attrs["href"]) for t in inside if t.type == "link_open"]
    links += [str(t.attrs["src"]) for t in inside if t.type == "image"]
    assert links
    for link in links:
        parts = urlsplit(link)
        if parts.scheme:
            continue
        target = ROOT / parts.path
        assert target.exists(), link
        if parts.fragment:
            titles = HEADING.findall(target.read_text("utf-8"))
            slugs = {
                re.sub(r"[^\w -]", "", title).strip().lower().replace(" ", "-") for title in titles
            }
            assert parts.fragment in slugs, link
