"""docs/explanation/theory/: an equation first, then what file and which test it is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.docs.pages import ROOT

THEORY = sorted((ROOT / "docs/explanation/theory").glob("*.md"))
UNDER = (
    "",
    "python/tapestry/",
    "python/tapestry/sql/",
    "python/tapestry/verification/",
)
PATH = re.compile(r"`((?:\.\./)?[\w/.]+(?:\.py|\.sql|\.json|/))(?:`|: )|`(tests/[\w/]+)`")


@pytest.mark.parametrize("path", THEORY, ids=lambda path: path.stem)
def test_the_equation_comes_first_and_names_its_file_and_its_test(path: Path) -> None:
    text = path.read_text("utf-8")
    assert "$$" in text, "no equation"
    table = re.search(r"^\| .*file under `python/tapestry.*tests \|$", text, flags=re.MULTILINE)
    assert table, "no table equation, file, tests"
    assert text.index("$$") < table.start()
    named = ["".join(match) for match in PATH.findall(text[table.start() :])]
    assert any(name.startswith("tests/") for name in named)
    assert any(not name.startswith("tests/") for name in named)


@pytest.mark.parametrize("path", THEORY, ids=lambda path: path.stem)
def test_the_files_that_it_names_are_there(path: Path) -> None:
    for match in PATH.findall(path.read_text("utf-8")):
        name = "".join(match)
        assert any((ROOT / folder / name).exists() for folder in UNDER), name
