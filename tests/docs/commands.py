"""Lines for a shell, as the pages show them: do these commands exist, with these options?"""

from __future__ import annotations

import importlib.util
import re
import shlex
from functools import cache
from pathlib import Path

import click
from tests.docs.pages import ROOT

PLAIN = {"cd", "mkdir", "export", "cp", "rm", "cat", "git", "crontab", "echo", "eval", "jq"}
"""Programs of the system whose options are not ours to check."""
WRAPPERS = {"flock": 1, "timeout": 1, "nohup": 0, "nice": 0, "exec": 0}
"""Programs that run the command behind them, with so many arguments of their own."""
_SEPARATORS = {"&&", "||", ";", "|", "&"}


def commands_of(text: str) -> list[list[str]]:
    """The commands of a block, as words; `$ ` begins a command, where there is one.

    >>> commands_of("$ cd x && A=1 dbt run   # now\\nits output")
    [['cd', 'x'], ['dbt', 'run']]
    """
    lines = text.replace("\\\n", " ").splitlines()
    session = any(line.startswith("$ ") for line in lines)
    found: list[list[str]] = []
    for line in lines:
        if session and not line.startswith("$ "):
            continue
        found += _split(line.removeprefix("$ "))
    return found


def _split(line: str) -> list[list[str]]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars=";&|<>()")
    lexer.whitespace_split = True
    found: list[list[str]] = [[]]
    skip = False
    for word in lexer:
        if skip:
            skip = False
        elif word in _SEPARATORS:
            found.append([])
        elif set(word) <= set("<>&"):
            skip = True
            if found[-1] and found[-1][-1].isdigit():
                found[-1].pop()  # 2>file
        else:
            found[-1].append(word)
    return [words for words in map(_unwrapped, found) if words]


def _unwrapped(words: list[str]) -> list[str]:
    while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
        words = words[1:]
    if words and words[0] in WRAPPERS:
        own = WRAPPERS[words[0]]
        rest = [word for word in words[1:] if not word.startswith("-")]
        return _unwrapped(words[words.index(rest[own]) :] if len(rest) > own else [])
    return words


def trouble(words: list[str]) -> str:
    """What is wrong with a command; empty where nothing is."""
    program, *arguments = words
    program = Path(program).name
    if program in PLAIN:
        return ""
    if program in ("tapestry", "dbt"):
        return _parsed(program, arguments)
    if program == "make":
        goals = [a for a in arguments if "=" not in a and not a.startswith("-")]
        return next((f"make has no goal {g}" for g in goals if g not in _goals()), "")
    if program in ("pip", "pip3"):
        return _installed(arguments)
    if program in ("python", "pytest"):
        return _python(arguments if program == "python" else ["-m", "pytest"])
    if "/" in words[0] or words[0].startswith("."):
        return "" if (ROOT / words[0]).exists() else f"there is no {words[0]}"
    return f"{program} is unknown here: add it to the tests, or mark the block"


@cache
def _group(program: str) -> click.Group:
    if program == "tapestry":
        from tapestry.cli.main import commands

        return commands
    from dbt.cli.main import cli

    assert isinstance(cli, click.Group)
    return cli


def _parsed(program: str, arguments: list[str]) -> str:
    """Parsed by click, not executed: options are there, and their choices; files need not be."""
    command: click.Command = _group(program)
    context = click.Context(command, info_name=program)
    while isinstance(command, click.Group):
        try:
            given, rest, _ = _parse(command, context, arguments)
        except click.UsageError as error:
            return error.format_message()
        if not rest:
            complete = given or (context.parent is not None and command.invoke_without_command)
            return "" if complete else f"{program} alone"
        name, *arguments = rest
        found = command.get_command(context, name)
        if found is None:
            return f"{program} has no command {name}"
        command, context = found, click.Context(found, context, info_name=name)
    try:
        _parse(command, context, arguments)
    except click.UsageError as error:
        return f"{program} {command.name}: {error.format_message()}"
    return ""


def _parse(
    command: click.Command, context: click.Context, arguments: list[str]
) -> tuple[dict[str, object], list[str], object]:
    context.allow_interspersed_args = not isinstance(command, click.Group)
    values, rest, order = command.make_parser(context).parse_args(list(arguments))
    for parameter in command.params:
        if isinstance(parameter.type, click.Choice) and parameter.name in values:
            parameter.type_cast_value(context, values[parameter.name])
        given = values.get(str(parameter.name))
        missing = not isinstance(given, (str, tuple, list)) or not given
        if isinstance(parameter, click.Argument) and parameter.required and missing:
            raise click.UsageError(f"{parameter.name} is missing")
    return dict(values), rest, order


@cache
def _goals() -> frozenset[str]:
    text = (ROOT / "Makefile").read_text()
    return frozenset(re.findall(r"^([\w-]+):", text, flags=re.MULTILINE))


def _installed(arguments: list[str]) -> str:
    """Extras of ours that a page installs are there."""
    text = (ROOT / "pyproject.toml").read_text()
    extras = set(re.findall(r"^(\w+) = \[", text.partition("[project.optional-dependencies]")[2],
                            flags=re.MULTILINE))  # fmt: skip
    for argument in arguments:
        match = re.fullmatch(r"(?:\.|dbt-tapestry)\[([\w,]+)\]", argument)
        for extra in match.group(1).split(",") if match else []:
            if extra not in extras:
                return f"there is no extra {extra}"
    return ""


def _python(arguments: list[str]) -> str:
    if not arguments:
        return ""
    if arguments[0] == "-m":
        found = importlib.util.find_spec(arguments[1])
        return "" if found or arguments[1] == "venv" else f"there is no module {arguments[1]}"
    return "" if (ROOT / arguments[0]).exists() else f"there is no {arguments[0]}"
