"""What hints name is there: options and commands, and keys of configuration."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import click
import pytest
from dbt.cli.main import cli
from tools.reference.errors import Message, messages

from dbt.adapters.tapestry.credentials import TapestryCredentials
from dbt.adapters.tapestry.model_config import TapestryConfig
from tapestry.cli.main import commands
from tapestry.runs.kinds.registry import all_keys

ROOT = Path(__file__).resolve().parents[2]
HINTS = sorted({m.hint: m for m in messages(ROOT) if m.hint}.values(), key=lambda m: m.hint)
OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]*")
COMMAND = re.compile(r"\btapestry ([a-z]\w*)|\bdbt (?!already|project|runs|may|has)([a-z]\w*)")
KEY = re.compile(r"\b((?:on|late|open|keep|server)_[a-z_]+|verify|assume|begin|lag|deliver):")
OTHERS = {"--conf"}
"""Options of other programs: spark-submit's."""
OWN = {"on_violation"}
"""Keys inside of others: of an expectation."""


def inside(command: click.Command) -> dict[str, click.Command]:
    """The commands of a group, those too that are loaded when they are asked for."""
    if not isinstance(command, click.Group):
        return {}
    context = click.Context(command)
    found = {name: command.get_command(context, name) for name in command.list_commands(context)}
    return {name: one for name, one in found.items() if one is not None}


@cache
def options(command: click.Command) -> frozenset[str]:
    """The options of a command and of all in it."""
    own = frozenset(name for one in command.params for name in (*one.opts, *one.secondary_opts))
    return own.union(*map(options, inside(command).values()))


@pytest.mark.parametrize("message", HINTS, ids=lambda m: m.hint[:50])
def test_what_a_hint_names_is_there(message: Message) -> None:
    known = options(commands) | options(cli) | OTHERS
    assert set(OPTION.findall(message.hint)) <= known
    for ours, dbt_s in COMMAND.findall(message.hint):
        assert not ours or ours in inside(commands), f"tapestry {ours}"
        assert not dbt_s or dbt_s in inside(cli), f"dbt {dbt_s}"
    classes = (TapestryConfig, TapestryCredentials)
    keys = OWN.union(all_keys(), *(one.__dataclass_fields__ for one in classes))
    assert set(KEY.findall(message.hint)) <= keys
