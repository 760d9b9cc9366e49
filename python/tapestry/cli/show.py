"""Output for people: highlighted SQL, tables, and plain text if it does not go to a terminal.

rich follows NO_COLOR, TERM and whether the output is a terminal.
"""

from __future__ import annotations

import sys

from rich.console import Console
from rich.syntax import Syntax
from rich.table import Table

PLAIN_WIDTH = 120
"""The maximum length of a line of the output where it is no terminal."""


def console() -> Console:
    """The standard output."""
    width = None if sys.stdout.isatty() else PLAIN_WIDTH
    return Console(highlight=False, width=width, soft_wrap=True)


def folded_table(title: str, *columns: str) -> Table:
    """A table for rows whose texts are broken where they are too long."""
    table = Table(title=title, title_justify="left")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def show_sql(to: Console, sql: str) -> None:
    """SQL with its keywords highlighted, on the terminal's own background."""
    if to.is_terminal and not to.no_color:
        theme = "ansi_dark"
        to.print(Syntax(sql, "sql", theme=theme, background_color="default", word_wrap=True))
    else:
        to.print(sql, markup=False)
