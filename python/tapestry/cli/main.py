"""The command group, and how errors end a command: one short message and an exit code."""

from __future__ import annotations

import sys

import click
from dbt_common.exceptions import DbtBaseException

from tapestry.cli.load import load
from tapestry.cli.report import report
from tapestry.errors import ConcurrentRun, ConfigurationError, TapestryError

DONE, FAILED, USAGE, BUSY = 0, 1, 2, 3
"""Exit codes; BUSY: somebody else was faster, the same command again can succeed."""


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="dbt-tapestry", prog_name="tapestry")
def commands() -> None:
    """Continuous queries for dbt: what goes beside `dbt run`.

    Exit codes: 0 done, 1 failed, 2 wrong usage or settings, 3 somebody else was faster.
    """


commands.add_command(load)
commands.add_command(report)


def main() -> None:
    """Run a command; errors that we or dbt foresee end it without a traceback."""
    try:
        code = commands.main(standalone_mode=False)
    except click.ClickException as error:
        error.show()
        code = USAGE if isinstance(error, click.UsageError) else FAILED
    except click.Abort:
        click.echo("stopped", err=True)
        code = FAILED
    except (TapestryError, DbtBaseException) as error:
        click.echo(f"Error: {error}", err=True)
        code = _code(error)
    sys.exit(code or DONE)


def _code(error: Exception) -> int:
    if isinstance(error, ConcurrentRun):
        return BUSY
    return USAGE if isinstance(error, ConfigurationError) else FAILED
