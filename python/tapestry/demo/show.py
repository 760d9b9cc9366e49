"""Prints a demonstration: the steps as they pass, and the checks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.console import Console
from rich.live import Live
from rich.panel import Panel
from rich.syntax import Syntax
from rich.table import Table

from tapestry.demo.check import TableComparison
from tapestry.demo.play import Played
from tapestry.schedule.steps_table import step_cells, steps_table

_SHOWN = 3  # models with a column of their own


def show_model(console: Console, path: Path) -> None:
    """One of the models: plain SQL, nothing incremental about it."""
    text = Syntax(path.read_text("utf-8").strip(), "sql", background_color="default")
    title = f"models/{path.parent.name}/{path.name}"
    console.print(Panel(text, title=title, width=90, highlight=True))


def show_steps(console: Console, steps: Iterable[Played], models: Sequence[str]) -> None:
    """A row for each run; on a terminal the table grows, else each row is printed as it comes."""
    title, extra = "what each run delivered: new rows", ("rows loaded", "of them late")
    table = steps_table(title, _columns(models), extra)
    if console.is_terminal:
        with Live(table, console=console, vertical_overflow="visible", auto_refresh=False) as live:
            for step in steps:
                table.add_row(*_cells(step, models))
                live.refresh()
        return
    for step in steps:
        table.add_row(*_cells(step, models))
        console.print(" ".join(_cells(step, models)))
    console.print(table)


def show_checks(console: Console, title: str, checks: Iterable[TableComparison]) -> bool:
    """Each model's comparison; True if all are equal."""
    table = Table(title=title, title_justify="left")
    table.add_column("model", min_width=30)
    for name in ("rows", "of them rejected", "missing", "too many"):
        table.add_column(name, justify="right")
    table.add_column("")
    good = True
    for one in checks:
        good &= one.equal
        verdict = "[green]equal[/]" if one.equal else "[red]DIFFERENT[/]"
        counts = (one.expected, one.rejected, one.missing, one.surplus)
        table.add_row(one.model, *(f"{count:,}" for count in counts), verdict)
    console.print(table)
    return good


def show_report(console: Console, told: Sequence[str], page: Path) -> None:
    """Print the report on all runs in short, and the path of its page."""
    console.print("[bold]the report on these runs says:[/]")
    for line in told:
        console.print(f"  {line}", markup=False, highlight=False)
    console.print(f"  as a page for your browser: {page}", markup=False, soft_wrap=True)


def _columns(models: Sequence[str]) -> list[str]:
    """The models to show: those with a Figure 4 number of the hard kinds first."""
    liked = ["q4_unanswered", "q5_conversations", "quiet_for_two_weeks"]
    first = [model for model in liked if model in models]
    return [*first, *(model for model in models if model not in first)][:_SHOWN]


def _cells(step: Played, models: Sequence[str]) -> list[str]:
    return step_cells(step, _columns(models), (step.loaded, step.late))
