"""The tutorial as a new user does it: its files, its commands one after the other, what they print.

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

PAGE = ROOT / "docs/tutorial.md"
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


def test_what_the_tutorial_says_happens(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    if "tutorial" not in request.config.option.markexpr:
        pytest.skip("starts Spark nine times, which takes minutes: -m tutorial")
    folder = tmp_path / "mail"
    shutil.copytree(ROOT / "docs/files", folder)
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        "DO_NOT_TRACK": "1",
        # Processes that live for seconds: what the JVM's better compiler costs does not come back.
        "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }
    done: list[str] = []
    wrong: list[str] = []
    for part in parts(PAGE):
        if part.mark == "not run":
            break  # from here on it is the reader's own mail
        if part.title:  # the last step shows a file again, for the reader's own mail
            file = folder / part.title
            file.parent.mkdir(exist_ok=True)
            if not file.exists():
                file.write_text(part.text)
        for command, shown in sessions(part) if part.language == "console" else ():
            assert not command.startswith(ELSEWHERE)
            run = subprocess.run(
                ["bash", "-c", command],
                cwd=folder,
                env=environment,
                capture_output=True,
                text=True,
                timeout=240,
            )
            assert run.returncode == 0, f"{command}\n{run.stdout}\n{run.stderr}"
            if lost := missing(shown, run.stdout):
                wrong.append(f"{command}\ndid not print {lost}, but\n{run.stdout}")
            done.append(command)
    assert not wrong, "\n\n".join(wrong)
    assert sum(command.startswith("tapestry") for command in done) >= 4
    assert sum("dbt run" in command for command in done) >= 2
