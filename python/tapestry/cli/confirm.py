"""Ask before something is forgotten."""

from __future__ import annotations

import sys

import click

from tapestry.errors import ConfigurationError


def confirm(question: str, as_json: bool) -> None:
    """Come back only with a yes: the standard output stays free for JSON.

    Raises click.Abort for a no, ConfigurationError where nobody is there to answer.
    """
    try:
        agreed = click.confirm(question, err=as_json)
    except click.Abort:
        if sys.stdin.isatty():
            raise
        raise ConfigurationError(
            f"nobody answered: {question} Nothing was done", hint="--yes goes on without asking"
        ) from None
    if not agreed:
        raise click.Abort
