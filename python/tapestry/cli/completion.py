"""`tapestry completion`: the script that lets a shell complete our commands and options."""

from __future__ import annotations

import json
import os
from pathlib import Path

import click
from click.shell_completion import get_completion_class

EXAMPLE = """\b
Example:
  eval "$(tapestry completion bash)"                     # in ~/.bashrc
  eval "$(tapestry completion zsh)"                      # in ~/.zshrc
  tapestry completion fish > ~/.config/fish/completions/tapestry.fish
"""
SHELLS = ("bash", "zsh", "fish")


@click.command(epilog=EXAMPLE)
@click.argument("shell", type=click.Choice(SHELLS), required=False)
@click.option("--json", "as_json", is_flag=True, help="Print the script as a field of JSON.")
def completion(shell: str | None, as_json: bool) -> None:
    """Print the script that lets your shell complete commands; by default for $SHELL."""
    from tapestry.cli.main import commands

    shell = shell or Path(os.environ.get("SHELL", "")).name
    kind = get_completion_class(shell) if shell in SHELLS else None
    if kind is None:
        raise click.UsageError(f"Which shell? Give one of: {', '.join(SHELLS)}.")
    script = kind(commands, {}, "tapestry", "_TAPESTRY_COMPLETE").source()
    click.echo(json.dumps({"shell": shell, "script": script}) if as_json else script)
