"""The judges of the rewriting are asked where a text has changed that they say something of."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tools import judged


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A copy of the tree, of which all judges have passed."""
    for folder in judged.CHANGING:
        there, here = judged.ROOT / folder, tmp_path / folder
        here.parent.mkdir(parents=True, exist_ok=True)
        if there.is_file():
            shutil.copy(there, here)
        else:
            shutil.copytree(there, here, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "tests/judged.txt").write_text(f"{judged.digest(tmp_path)}\n")
    return tmp_path


def test_nothing_changed(root: Path) -> None:
    assert judged.digest(root) == judged.digest()
    arguments, why = judged.chosen(250, root)
    assert arguments == [judged.ORACLE, "--queries", "50"]
    assert "unchanged" in why


@pytest.mark.parametrize("folder", judged.CHANGING)
def test_a_text_changed(root: Path, folder: str) -> None:
    place = root / folder
    changed = place if place.is_file() else next(place.rglob("*.py"))
    changed.write_text(changed.read_text("utf-8") + "\n", "utf-8")
    arguments, why = judged.chosen(250, root)
    assert arguments == [*judged.JUDGES, "--queries", "250"]
    assert why.startswith("changed")


def test_a_file_more_or_renamed(root: Path) -> None:
    case = next((root / "tests/property/cases").glob("*.json"))
    case.rename(case.with_name("renamed.json"))
    assert judged.chosen(250, root)[0][-1] == "250"


def test_they_never_passed(root: Path) -> None:
    (root / "tests/judged.txt").unlink()
    assert judged.chosen(7, root)[0] == [*judged.JUDGES, "--queries", "7"]


def test_all_that_is_named_is_there() -> None:
    for name in (*judged.JUDGES, *judged.CHANGING, *judged.APART):
        assert (judged.ROOT / name).exists(), name


def test_what_lies_apart_is_read_by_nothing_that_is_judged() -> None:
    for folder in judged.CHANGING:
        for path in sorted((judged.ROOT / folder).rglob("*.py")):
            name = path.relative_to(judged.ROOT).as_posix()
            if not name.startswith(judged.APART):
                assert "tapestry.sql.operators" not in path.read_text("utf-8"), name


def test_what_lies_apart_changes_nothing(root: Path) -> None:
    (root / judged.APART[0] / "more.py").write_text("\n", "utf-8")
    assert judged.digest(root) == judged.digest()
