"""Each test is in exactly one part, and the Makefile runs all parts: no file is in none."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.parts import PARTS, TESTS, is_empty, is_test_file, part

ROOT = TESTS.parent
FILES = sorted(path for path in TESTS.rglob("*.py") if "__pycache__" not in path.parts)
GATE = {"judges", "quick", "spark"}
STARTS_SPARK = (
    r"embedded import start|embedded\.start\(|SparkSession\.builder"
    r"|from there import|play import Player"
)


@pytest.mark.parametrize(
    ("place", "marks", "fixtures", "expected"),
    [
        ("test_errors.py", (), (), "quick"),
        ("new_folder/test_new.py", (), (), "quick"),
        ("sql/test_work.py", ("more",), (), "outside"),
        ("docs/test_tutorial.py", ("tutorial",), (), "outside"),
        ("adapter/test_launch.py", (), ("h2",), "outside"),
        ("adapter/test_launch.py", (), ("tmp_path",), "quick"),
        ("adapter/test_project.py", (), ("project", "embedded_spark"), "outside"),
        ("adapter/test_project.py", ("gate",), ("project", "embedded_spark"), "spark"),
        ("adapter/test_s3.py", ("spark",), (), "outside"),
        ("cli/test_load.py", ("spark", "gate"), (), "spark"),
        ("spark/test_new.py", (), (), "outside"),
        ("spark/test_new.py", ("gate",), ("spark",), "spark"),
        ("spark/test_new.py", ("gate", "more"), ("spark",), "outside"),
        ("property/test_oracle.py", (), (), "judges"),
        ("property/test_oracle_new.py", (), (), "quick"),
        ("verification/test_new.py", (), (), "judges"),
        ("verification/test_new.py", ("more",), (), "outside"),
    ],
)  # fmt: skip
def test_the_part_of_a_test(
    place: str, marks: tuple[str, ...], fixtures: tuple[str, ...], expected: str
) -> None:
    assert part(place, marks, fixtures) == expected


def test_every_file_with_tests_is_found() -> None:
    """pytest looks at names, and not into some folders."""
    unseen = [
        str(path.relative_to(TESTS))
        for path in FILES
        if re.search(r"^(async )?def test_", path.read_text("utf-8"), re.M)
        and (not is_test_file(path) or {"build", "dist", "venv", "node_modules"} & {*path.parts})
    ]
    assert not unseen


def test_every_file_can_be_in_a_part() -> None:
    """The look at a file's text, before it is imported, leaves it a part."""
    files = [path for path in FILES if is_test_file(path)]
    assert len(files) > 250
    for path in files:
        assert not is_empty(path, PARTS), path
        assert not is_empty(path, ["outside"]), path  # any test can be marked `more`
        open_to = [part for part in GATE if not is_empty(path, [part])]
        assert open_to or "pytest.mark.gate" not in path.read_text("utf-8"), path


def test_a_file_that_starts_spark_is_marked_as_such() -> None:
    """Else it would be among those that run on all processors."""
    found = [
        path
        for path in FILES
        if is_test_file(path)
        and path != Path(__file__)
        and re.search(STARTS_SPARK, path.read_text("utf-8"))
        and not is_empty(path, ["quick"])
    ]
    assert {"test_load.py", "test_s3.py", "test_play.py"} <= {path.name for path in found}
    for path in found:
        marks = [
            ast.unparse(node.value)
            for node in ast.parse(path.read_text("utf-8")).body
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark"
        ]
        fixture = re.search(r"def (embedded_)?spark\(", path.read_text("utf-8"))
        assert fixture or any("pytest.mark.spark" in mark for mark in marks), path


@pytest.mark.parametrize(("target", "parts"), [("test", GATE), ("test-all", {*PARTS})])
def test_the_makefile_runs_all_parts(target: str, parts: set[str]) -> None:
    """And names no file of tests but the judges' random queries, of which it asks more."""
    text = (ROOT / "Makefile").read_text("utf-8")
    rule = re.search(rf"^{target}: setup\n((?:\t.*\n|\w+.*\n)+)", text, re.M)
    assert rule
    run = [name for names in re.findall(r"--part (\S+)", rule[1]) for name in names.split(",")]
    assert sorted(run) == sorted(parts)
    oracle = "tests/property/test_rewrite_equals_oracle.py"
    assert set(re.findall(r"\btests/\w\S*\.py", text)) == {"tests/parts.py", oracle}
    assert set(re.findall(r"--ignore=(\S+)", text)) == {"$(ORACLE)"}


@pytest.mark.more
def test_the_parts_are_disjoint_and_the_whole() -> None:
    """Collected by pytest: files of each kind, and files with tests of two parts."""
    files = ["test_errors.py", "adapter/test_launch.py", "cli/test_load.py", "runs/test_commit.py",
             "property/test_oracle.py", "spark/test_sharing.py", "spark/test_ended_rows.py",
             "spark/test_settings.py", "dbt_runs/test_watch.py"]  # fmt: skip
    found = {name: _collected(files, "--part", name) for name in PARTS}
    everything = _collected(files)
    assert sorted(one for names in found.values() for one in names) == sorted(everything)
    assert all(found.values())


def _collected(files: list[str], *options: str) -> list[str]:
    places = [f"tests/{file}" for file in files]
    asked = [sys.executable, "-m", "pytest", "--collect-only", "-q", *places, *options]
    done = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True)
    return [line for line in done.stdout.splitlines() if "::" in line]
