"""docs/reference/options.md: every command with its arguments, options and examples, from click."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterator
from pathlib import Path

import click
from tools.reference.literals import cell

from tapestry.cli.commands import COMMANDS
from tapestry.cli.main import commands

TEXT = """\
# Options of each command

<!-- written by tools/reference from the code: `make reference` -->

This page has the texts of `tapestry COMMAND --help`. [Commands](commands.md) explains what the
commands are for.
"""


def page(root: Path) -> str:
    """The page as Markdown."""
    return "\n".join([TEXT, *(_command(name) for name in sorted(COMMANDS))])


def _command(name: str) -> str:
    context = click.Context(commands, info_name="tapestry")
    command = commands.get_command(context, name)
    assert command is not None
    example, prose = _epilog(command.epilog or "")
    usage = " ".join(command.collect_usage_pieces(click.Context(command)))
    lines = [f"## {name}", "", " ".join(inspect.cleandoc(command.help or "").split()), ""]
    lines += ["<!-- output -->", "```text", f"tapestry {name} {usage}", "```", ""]
    if rows := list(_options(command)):
        lines += ["| option | meaning | default |", "|---|---|---|", *rows, ""]
    if example:
        lines += ["```sh", *example, "```", ""]
    lines += prose
    if isinstance(command, click.Group):
        known = {option.name for option in command.params} - {"as_json"}
        for word in command.commands.values():
            lines += _word(f"{name} {word.name}", word, known)
    return "\n".join(lines)


def _word(name: str, command: click.Command, known: set[str | None]) -> Iterator[str]:
    """A word behind a command, with those of its options that the command has not."""
    usage = " ".join(command.collect_usage_pieces(click.Context(command)))
    yield from (f"### {name}", "", " ".join(inspect.cleandoc(command.help or "").split()), "")
    yield from ("<!-- output -->", "```text", f"tapestry {name} {usage}", "```", "")
    yield from ("| option | meaning | default |", "|---|---|---|", *_options(command, known), "")


def _options(command: click.Command, known: Collection[str | None] = ()) -> Iterator[str]:
    for option in command.params:
        if not isinstance(option, click.Option) or option.hidden or option.name in known:
            continue
        name = ", ".join(f"`{text}`" for text in (*option.opts, *option.secondary_opts))
        if not option.is_flag:
            kind = option.type
            values = " or ".join(kind.choices) if isinstance(kind, click.Choice) else ""
            name += f" {values or option.metavar or kind.name.upper()}"
        default = option.default if isinstance(option.default, (str, int, float, Path)) else ""
        default = "" if isinstance(default, bool) else str(default)
        yield f"| {name} | {cell(option.help or '')} | {cell(default)} |"


def _epilog(text: str) -> tuple[list[str], list[str]]:
    """The lines of the example, and the paragraphs after it."""
    text = inspect.cleandoc(text.replace("\b", ""))
    paragraphs = text.strip().split("\n\n")
    example: list[str] = []
    prose: list[str] = []
    for paragraph in paragraphs:
        lines = paragraph.strip().splitlines()
        if lines and lines[0].startswith("Example"):
            example += [line.strip() for line in lines[1:]]
        elif lines:
            prose += [cell(" ".join(" ".join(lines).split())), ""]
    return example, prose
