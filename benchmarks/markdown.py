"""Figures as the text of a page: tables, pictures, numbers."""

from __future__ import annotations

from pathlib import Path

from benchmarks.common import DOCS


def table(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table, numbers to the right."""
    lines = ["| " + " | ".join(head) + " |", "|---" + "|---:" * (len(head) - 1) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def picture(path: Path, words: str) -> str:
    """A picture, as the page includes it."""
    return f"![{words}]({path.relative_to(DOCS)})"


def seconds(value: float | None) -> str:
    """Seconds with two or three digits."""
    if value is None:
        return "–"
    return f"{value:.2f}" if value < 10 else f"{value:.1f}"


def count(value: int | None) -> str:
    """A number of files or rows; a dash where it was not counted."""
    return "–" if value is None else f"{value:,}"
