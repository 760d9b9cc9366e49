"""Pages as a new user follows them: their files, their commands in order, what these print.

Each command is a process of its own and most of them start a Spark, so this takes minutes and
stands outside the gate: ``pytest tests/docs/test_tutorial.py -m tutorial``.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.docs.pages import ROOT, Part, parts

TUTORIAL = ROOT / "docs/tutorial/index.md"
UNIT_TESTS = ROOT / "docs/how-to/unit-tests.md"
ELSEWHERE = ("pip install", "python -m venv", "export PATH", "mkdir", "cd ")
"""What the test has done already: the installation and the folder."""

pytestmark = pytest.mark.tutorial


def sessions(part: Part) -> list[tuple[str, list[str]]]:
    """Each command of a block, and the lines that the page shows below it."""
    found: list[tuple[str, list[str]]] = []
    for line in part.text.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif line.strip():
            found[-1][1].append(line)
    return found


def missing(shown: list[str], printed: str) -> list[str]:
    """Lines of the page that were not printed in this order; `…` stands for anything.

    >>> missing(["a … c", "d"], "12:00:01  a  b  c\\nx\\nd")
    []
    >>> missing(["d", "a"], "a\\nd")
    ['a']
    """
    plain = re.sub(r"\x1b\[\d*m", "", printed)  # colours
    lines = [re.sub(r"^\d\d:\d\d:\d\d\s+", "", line).strip() for line in plain.splitlines()]
    lost, place = [], 0
    for wanted in shown:
        pattern = re.sub(r"(\\\ )+", r"\\s+", re.escape(wanted.strip())).replace("…", ".*")
        found = [n for n in range(place, len(lines)) if re.fullmatch(pattern, lines[n])]
        if found:
            place = found[0] + 1
        else:
            lost.append(wanted)
    return lost


def project(folder: Path, page: Path) -> None:
    """The files that a page shows, each the first time that it does."""
    for part in parts(page):
        if part.mark == "not run":
            break  # from here on it is the reader's own mail
        file = folder / part.title
        if part.title and not file.exists():
            file.parent.mkdir(exist_ok=True)
            file.write_text(part.text)


def follow(folder: Path, page: Path) -> list[str]:
    """Execute a page's commands in a folder; AssertionError where one prints something else."""
    done: list[str] = []
    wrong: list[str] = []
    for part in parts(page):
        if part.mark == "not run":
            break
        for command, shown in sessions(part) if part.language == "console" else ():
            assert not command.startswith(ELSEWHERE)
            printed = execute(folder, command)
            if lost := missing(shown, printed):
                wrong.append(f"{command}\ndid not print {lost}, but\n{printed}")
            done.append(command)
    assert not wrong, "\n\n".join(wrong)
    return done


def execute(folder: Path, command: str) -> str:
    """What a command prints that a shell executes in the folder."""
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        "DO_NOT_TRACK": "1",
        # Processes that live for seconds: what the JVM's better compiler costs does not come back.
        "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }
    run = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert run.returncode == 0, f"{command}\n{run.stdout}\n{run.stderr}"
    return run.stdout


@pytest.fixture
def folder(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A folder with the tutorial's mailboxes."""
    if "tutorial" not in request.config.option.markexpr:
        pytest.skip("starts Spark again and again, which takes minutes: -m tutorial")
    return shutil.copytree(ROOT / "docs/files", tmp_path / "mail")


def test_what_the_tutorial_says_happens(folder: Path) -> None:
    project(folder, TUTORIAL)
    done = follow(folder, TUTORIAL)
    assert sum(command.startswith("tapestry") for command in done) >= 4
    assert sum("dbt run" in command for command in done) >= 2


def test_what_the_page_about_unit_tests_says_happens(folder: Path) -> None:
    project(folder, UNIT_TESTS)
    project(folder, TUTORIAL)
    execute(folder, "tapestry load march.mbox")
    (done,) = follow(folder, UNIT_TESTS)
    assert done.startswith("dbt test")
