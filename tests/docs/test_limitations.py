"""The pages of limitations: each entry says what to do instead, the index names the five worst."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.docs.pages import ROOT

FOLDER = ROOT / "docs/reference/limitations"
ENTRIES = [path for path in sorted(FOLDER.glob("*.md")) if path.stem != "index"]


@pytest.mark.parametrize("path", ENTRIES, ids=lambda path: path.stem)
def test_each_entry_has_a_way_out(path: Path) -> None:
    _, *entries = re.split(r"^### ", path.read_text("utf-8"), flags=re.MULTILINE)
    assert entries
    for entry in entries:
        title, _, told = entry.partition("\n")
        assert told.count("**Instead:**") == 1, title


def test_the_index_names_the_five_worst_and_every_page() -> None:
    text = (FOLDER / "index.md").read_text("utf-8")
    worst = re.findall(r"^\d\. \[\*\*.+?\*\*\]\((\w+)\.md#", text, flags=re.MULTILINE)
    assert len(worst) == 5
    for path in ENTRIES:
        assert f"]({path.name})" in text, path.name
