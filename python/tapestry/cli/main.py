"""The command group `tapestry`, and its end: one short message and an exit code."""

from __future__ import annotations

import sys

import click

from tapestry.cli.commands import CommandFiles
from tapestry.cli.end_command import BUSY, DONE, FAILED, USAGE, end_with

__all__ = ["BUSY", "DONE", "FAILED", "USAGE", "commands", "main"]


@click.group(cls=CommandFiles, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--debug", is_flag=True, help="Show where in the program an error came up.")
@click.version_option(package_name="dbt-tapestry", prog_name="tapestry")
def commands(debug: bool) -> None:
    """Continuous queries for dbt: what goes beside `dbt run`.

    Exit codes: 0 done, 1 failed, 2 wrong usage or settings, 3 somebody else was faster.
    With --json a command prints JSON, errors included. NO_COLOR switches colours off.
    """


def main() -> None:
    """Run a command; no error ends it with a traceback (but for `--debug`)."""
    try:
        code = commands.main(standalone_mode=False)
    except Exception as error:
        code = end_with(error, "--json" in sys.argv, "--debug" in sys.argv)
    sys.exit(code or DONE)
