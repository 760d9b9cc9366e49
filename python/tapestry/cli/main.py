"""The command group `tapestry`, and its end: one short message and an exit code."""

from __future__ import annotations

import sys

import click

from tapestry.cli.commands import CommandFiles
from tapestry.cli.end_command import BUSY, DONE, FAILED, USAGE, end_with

__all__ = ["BUSY", "DONE", "FAILED", "USAGE", "commands", "main"]


@click.group(cls=CommandFiles, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--debug", is_flag=True, help="Show the Python traceback of an error.")
@click.version_option(package_name="dbt-tapestry", prog_name="tapestry")
def commands(debug: bool) -> None:
    """Commands for a dbt project whose models use the adapter Tapestry.

    Exit codes: 0 done, 1 failed, 2 wrong usage or settings, 3 another run committed first.
    With --json a command prints JSON, errors included. NO_COLOR switches colours off.
    """


def main() -> None:
    """Run a command; no error ends it with a traceback (but for `--debug`)."""
    try:
        code = commands.main(standalone_mode=False)
    except Exception as error:
        code = end_with(error, "--json" in sys.argv, "--debug" in sys.argv)
    sys.exit(code or DONE)
