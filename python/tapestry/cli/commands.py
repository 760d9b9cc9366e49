"""Lists the commands, a line for each; a command's module is imported on demand."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Final

import click

COMMANDS: Final[Mapping[str, str]] = {
    # name: what it does, in a few words. The command is `name` in the module tapestry.cli.name.
    "adopt": "Take over an existing incremental table as a continuous model.",
    "advise": "Say which models of an existing dbt project fit, and what to change.",
    "completion": "Print the script that lets your shell complete commands.",
    "datadocs": "Render the checks of past runs as Data Docs.",
    "deliver": "Send new answers to files, mail, webhooks and tables.",
    "doctor": "Check what a run needs, and say how to fix what is wrong.",
    "eject": "Write models as plain dbt incremental models.",
    "explain": "Explain a model: the steps to its SQL, and what a run reads.",
    "init": "Make a new project in an empty folder.",
    "load": "Load a mailbox into the messages table.",
    "network": "Show the network of sources, kept tables and models.",
    "queries": "List the models; switch one off or on.",
    "replay": "Run the project over past data, in steps.",
    "report": "Write one HTML page that says which models are well.",
    "rewind": "Delete the answers of a model that began after an instant.",
    "rules": "Show the batches of actions; replay or drop them.",
    "run": "Run the models once, those of greater priority first.",
    "verify": "Check the tables of models against their queries.",
    "watch": "Run the models again and again, each in its interval.",
}


class CommandFiles(click.Group):
    """A group whose commands lie in files of their names, so that `--help` imports none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All commands, in alphabetical order."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """The command of this name; None where there is none."""
        if name not in COMMANDS:
            return None
        command = getattr(importlib.import_module(f"tapestry.cli.{name}"), name)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve a command as click does, suggesting near names if there is none."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-") and not ctx.resilient_parsing:
            near = get_close_matches(name, COMMANDS, 1)
            meant = f"Did you mean {near[0]}?" if near else f"There are: {', '.join(COMMANDS)}."
            raise click.UsageError(f"No such command '{name}'. {meant}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands in `--help`, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(sorted(COMMANDS.items()))
