"""Output for people: highlighted SQL, tables, and plain text where nobody looks at a terminal.

rich follows NO_COLOR, TERM and whether the output is a terminal.
"""

from __future__ import annotations

import sys

from rich.console import Console
from rich.syntax import Syntax

PLAIN_WIDTH = 120
"""Where the output is no terminal, its lines may be so long."""


def console() -> Console:
    """The standard output."""
    width = None if sys.stdout.isatty() else PLAIN_WIDTH
    return Console(highlight=False, width=width, soft_wrap=True)


def show_sql(to: Console, sql: str) -> None:
    """SQL with its keywords highlighted, on the terminal's own background."""
    if to.is_terminal and not to.no_color:
        theme = "ansi_dark"
        to.print(Syntax(sql, "sql", theme=theme, background_color="default", word_wrap=True))
    else:
        to.print(sql, markup=False)


def size_text(size: int) -> str:
    """A number of bytes as people read it.

    >>> size_text(0), size_text(34304), size_text(5 * 2**30)
    ('0 B', '33.5 KiB', '5.0 GiB')
    """
    amount, units = float(size), ["B", "KiB", "MiB", "GiB", "TiB"]
    while amount >= 1024 and len(units) > 1:
        amount /= 1024
        units.pop(0)
    return f"{amount:.0f} B" if units[0] == "B" else f"{amount:.1f} {units[0]}"
