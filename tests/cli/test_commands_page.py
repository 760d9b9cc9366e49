"""The page of commands: its lines are commands with options that exist, and none is missing."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from tapestry.cli.commands import COMMANDS
from tapestry.cli.main import commands

PAGE = (Path(__file__).parents[2] / "docs/reference/commands.md").read_text()
BLOCKS = re.findall(r"^```\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE)
LINES = [
    line.split("   #")[0].split(" && ")[0]
    for block in BLOCKS
    for line in block.splitlines()
    if line.startswith("tapestry ")
]


@pytest.mark.parametrize("line", LINES)
def test_the_line_is_a_command(line: str) -> None:
    name, *arguments = shlex.split(line)[1:]
    command = commands.get_command(commands.make_context("tapestry", ["--debug", "x"]), name)
    assert command is not None
    if isinstance(command, click.Group) and arguments and arguments[0] in command.commands:
        command = command.commands[arguments[0]]
    # Files of an example need not be there: only the options count.
    options = [a for a in arguments if not a.startswith(("~", "/")) and not a.endswith(".gz")]
    known = {option for parameter in command.params for option in parameter.opts}
    assert {a for a in options if a.startswith("-")} <= known


def test_every_command_of_this_page_is_there_and_has_an_example() -> None:
    sections = re.findall(r"^## (\w+)$", PAGE, flags=re.MULTILINE)
    assert set(sections) <= set(COMMANDS)
    assert {"init", "explain", "eject", "doctor", "load"} <= set(sections)
    assert len(LINES) >= 10
