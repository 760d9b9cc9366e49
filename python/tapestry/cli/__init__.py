"""The command `tapestry`: one word each, one command a file."""

from tapestry.cli.main import main

__all__ = ["main"]
