"""The views of `tapestry watch`: a live table on a terminal; elsewhere text, or JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime, timezone

import click
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from tapestry.schedule.ticks import Ticks, Turn
from tapestry.schedule.warm import FAILED, Ran
from tapestry.schedule.watcher import BACKING_OFF, RUNNING, Line
from tapestry.words import counted

NOTES = 3
STYLES = {RUNNING: "cyan", BACKING_OFF: "red"}


class TextView:
    """A line for each run that delivered something, failed, or succeeded after failing."""

    def __init__(self, to: Console) -> None:
        self._to = to
        self._failing: set[str] = set()

    def ran(self, ran: Ran, line: Line) -> None:
        """A model's run is over."""
        again = ran.model in self._failing and ran.status != FAILED
        if ran.status == FAILED:
            self._failing.add(ran.model)
            self._say(f"{ran.model} failed: {first_line(ran.message)}")
        elif ran.rows or again:
            self._failing.discard(ran.model)
            self._say(
                f"{ran.model}: {counted(ran.rows, 'new row')} in {ran.seconds:.1f} s"
                + " (well again)" * again
            )

    def note(self, text: str) -> None:
        """Something else that is worth a line."""
        self._say(text)

    def refresh(self) -> None:
        """Do nothing: lines are printed as events come."""

    def _say(self, text: str) -> None:
        now = datetime.now(timezone.utc)
        self._to.print(f"{now:%Y-%m-%d %H:%M:%S} {text}", markup=False)


class JsonView:
    """One line of JSON a run, also of those that found nothing new."""

    def __init__(self, ticks: Ticks) -> None:
        self._ticks = ticks

    def ran(self, ran: Ran, line: Line) -> None:
        """A model's run is over."""
        turn = self._ticks.turns[ran.model]
        told = {
            "model": ran.model,
            "status": ran.status,
            "rows": ran.rows,
            "seconds": round(ran.seconds, 3),
            "ended_at": line.ended_at.isoformat() if line.ended_at else None,
            "skipped_ticks": turn.skipped,
            "failures": turn.failures,
            "message": line.message,
        }
        click.echo(json.dumps(told))

    def note(self, text: str) -> None:
        """Print a message for people on the standard error."""
        click.echo(text, err=True)

    def refresh(self) -> None:
        """Do nothing: lines are printed as events come."""


class LiveView:
    """A live table of the models, failing ones first."""

    def __init__(
        self,
        to: Console,
        ticks: Ticks,
        clock: Callable[[], float],
        lines: Mapping[str, Line] | None = None,
    ) -> None:
        self._to, self._ticks, self._clock = to, ticks, clock
        self.lines: Mapping[str, Line] = lines or {}
        self._notes: list[str] = []
        self._live = Live(console=to, auto_refresh=False, transient=False)

    def __enter__(self) -> LiveView:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.refresh()
        self._live.stop()

    def ran(self, ran: Ran, line: Line) -> None:
        """Show the end of a model's run in the table."""

    def note(self, text: str) -> None:
        """Show a message under the table, with the last few."""
        self._notes = [*self._notes, text][-NOTES:]

    def refresh(self) -> None:
        """Draw the table again."""
        self._live.update(self.table(), refresh=True)

    def table(self) -> Table:
        """The table as it is now, as many models as the terminal is high."""
        table = Table(box=None, pad_edge=False, caption_justify="left")
        for name in ("model", "state"):
            table.add_column(name, no_wrap=True)
        for name in ("every", "last run", "new rows", "total", "seconds", "next", "skipped"):
            table.add_column(name, justify="right", no_wrap=True)
        table.add_column("", no_wrap=True, overflow="ellipsis")
        room = max(3, self._to.size.height - 4 - NOTES)
        names = sorted(self._ticks.turns, key=self._order)
        for name in names[:room]:
            table.add_row(*self._cells(self._ticks.turns[name], self.lines.get(name, Line())))
        more = [f"… and {len(names) - room} more models"] * (len(names) > room)
        table.caption = Text(
            "\n".join([*more, *self._notes, "Ctrl-C ends after what is under way"])
        )
        return table

    def _order(self, name: str) -> tuple[bool, float, str]:
        """Return a sort key: failing models first, then by priority."""
        turn = self._ticks.turns[name]
        return (not turn.failures, -turn.timing.priority, name)

    def _cells(self, turn: Turn, line: Line) -> list[str | Text]:
        now = self._clock()
        ago = "–"
        if line.ended_at is not None:
            since = (datetime.now(timezone.utc) - line.ended_at).total_seconds()
            ago = length(int(since)) + " ago"
        return [
            turn.timing.name,
            Text(line.status, STYLES.get(line.status, "")),
            length(turn.timing.every),
            ago,
            f"{line.rows:,}" if turn.runs else "–",
            f"{line.total:,}",
            "–" if turn.seconds is None else f"{turn.seconds:.1f}",
            "–" if turn.running else "in " + length(max(0.0, turn.due - now)),
            str(turn.skipped or ""),
            Text(first_line(line.message), "red" if turn.failures else ""),
        ]


def length(seconds: float) -> str:
    """A length of time, short.

    >>> length(0.25), length(30), length(90), length(5400), length(200_000)
    ('0.2 s', '30 s', '1 min 30 s', '1 h 30 min', '2 d 7 h')
    """
    if seconds < 10 and seconds != int(seconds):
        return f"{seconds:.1f} s"
    whole = round(seconds)
    for unit, size, part, smaller in (
        ("d", 86400, "h", 3600),
        ("h", 3600, "min", 60),
        ("min", 60, "s", 1),
    ):
        if whole >= size:
            rest = whole % size // smaller
            return f"{whole // size} {unit}" + f" {rest} {part}" * bool(rest)
    return f"{whole} s"


def first_line(message: str) -> str:
    """Return the informative line of dbt's message.

    >>> first_line("Runtime Error in model a (models/a.sql)\\n  the source was rewritten\\n  do: x")
    'the source was rewritten'
    """
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    if len(lines) > 1 and " Error" in lines[0]:
        return lines[1]
    return lines[0] if lines else ""
