"""The outcome of a run, as it is reported to dbt and people."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tapestry.runs.checks.checks import ERROR, WARN, CheckResult, sentences
from tapestry.runs.engine.instants import show
from tapestry.runs.protocol.refreshed import NOT_REFRESHED, Refreshed
from tapestry.words import counted


@dataclass(frozen=True)
class Outcome:
    """The outcome of a run; ``rows`` is None where the log does not say.

    ``finished`` is the outcome of a crashed run that was completed first; ``refreshed`` the changes
    where rows go out, too.
    """

    action: str
    tau: datetime | None
    t: datetime | None
    n: int | None = None
    rows: int | None = None
    rejected_rows: int = 0
    results: tuple[CheckResult, ...] = ()
    finished: str = ""
    refreshed: Refreshed = NOT_REFRESHED

    @property
    def warnings(self) -> tuple[str, ...]:
        """One sentence for each check that the new rows break and that lets them pass."""
        return sentences(self.results)

    def __str__(self) -> str:
        first = f"{self.finished} by a run that had been stopped; " if self.finished else ""
        return first + self._what()

    def _what(self) -> str:
        if self.action == "nothing":
            return "nothing new"
        text = self.refreshed.told(self.rows) if self.refreshed.refresh else self._in_window()
        if self.rejected_rows:
            text += f", {self.rejected_rows} rejected"
        warned = sum(r.status in (WARN, ERROR) and r.on_violation == "warn" for r in self.results)
        return f"{text}, {warned} warned" if warned else text

    def _in_window(self) -> str:
        rows = "" if self.rows is None else counted(self.rows, "row") + " "
        return f"{rows}in ({show(self.tau)}, {show(self.t)}]"
