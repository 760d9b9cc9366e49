"""Ends a command on an error: with one short message without a traceback, and an exit code."""

from __future__ import annotations

import json
import traceback
from typing import Final

import click

from tapestry.errors import ConcurrentRun, ConfigurationError, Refusal, TapestryError, parted

DONE, FAILED, USAGE, BUSY = 0, 1, 2, 3
"""Exit codes; BUSY: somebody else was faster, the same command again can succeed."""
LINES: Final = 8
"""A message of dbt's or Spark's is cut off after so many lines; the rest is in logs/dbt.log."""


def end_with(error: Exception, as_json: bool, debug: bool) -> int:
    """Show the error and return the exit code.

    The message goes to the standard error; with `--json` it also goes to the standard output, as
    ``{"error": {"kind", "reason", "where", "hint"}}``, and ``code`` for a refusal, so that a
    script reads one stream.
    """
    if debug and not isinstance(error, click.ClickException):
        traceback.print_exception(error)
    if as_json:
        click.echo(json.dumps({"error": described(error)}))
    if isinstance(error, click.ClickException):
        error.show()
        return USAGE if isinstance(error, click.UsageError) else FAILED
    if isinstance(error, click.Abort):
        click.echo("stopped", err=True)
        return FAILED
    click.echo(f"Error: {short(error)}", err=True)
    if not foreseen(error) and not debug:
        click.echo("  This is a bug of ours: `tapestry --debug …` shows where.", err=True)
    return code_of(error)


def code_of(error: Exception) -> int:
    """The exit code that an error stands for."""
    if isinstance(error, ConcurrentRun):
        return BUSY
    kind = type(error).__name__
    of_settings = ("Profile", "ProjectError", "DbtValidationError")
    settings = isinstance(error, ConfigurationError) or any(part in kind for part in of_settings)
    return USAGE if settings else FAILED


def described(error: Exception) -> dict[str, str]:
    """An error as plain values."""
    if isinstance(error, TapestryError):
        parts = {"reason": error.reason, "where": error.where, "hint": error.hint}
        if isinstance(error, Refusal):
            parts["code"] = error.code
    elif isinstance(error, click.Abort):
        parts = {"reason": "stopped", "where": "", "hint": ""}
    elif isinstance(error, click.ClickException):
        parts = {"reason": error.format_message(), "where": "", "hint": ""}
    else:
        reason, hint = parted(short(error))
        parts = {"reason": reason, "where": "", "hint": hint}
    return {"kind": type(error).__name__, **{key: hidden(text) for key, text in parts.items()}}


def short(error: Exception) -> str:
    """The message in a few lines.

    Of dbt's errors what they say and where, not what kind they are: "Compilation Error in model x"
    stays, "Database Error" alone does not.
    """
    text, said = str(error), getattr(error, "msg", None)
    if isinstance(said, str) and " in " not in text.split("\n", 1)[0]:
        text = said
    text = text.strip() or type(error).__name__
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    lines = [line if i == 0 else f"  {line.strip()}" for i, line in enumerate(lines)]
    return hidden("\n".join(lines[:LINES]))


def hidden(text: str) -> str:
    """A text without the values of ``DBT_ENV_SECRET_*``, as dbt shows it."""
    from dbt_common.context import try_get_invocation_context
    from dbt_common.exceptions import scrub_secrets

    context = try_get_invocation_context()
    return text if context is None else str(scrub_secrets(text, context.env_secrets))


def foreseen(error: Exception) -> bool:
    """Return whether an error is one that we, dbt or the operating system foresee."""
    from dbt_common.exceptions import DbtBaseException

    return isinstance(error, (TapestryError, DbtBaseException, OSError))
