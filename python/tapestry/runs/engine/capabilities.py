"""What an engine may offer besides SQL, and what happens where it does not."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from tapestry.runs.engine.glance import Glance, LoggedCommit
from tapestry.runs.engine.read_volume import ReadVolume

T = TypeVar("T")


class Begin(Protocol):
    """Begins a task in another thread, where the same session may be asked by it."""

    def __call__(self, task: Callable[[], T], /) -> Future[T]:
        """The future gives what the task returns, or raises what it raised."""
        ...


@dataclass(frozen=True)
class Capabilities:
    """Nothing of this changes what a run writes, only what it costs or can tell.

    The one exception is ``frame``, without which expectations that only Great Expectations can
    check are refused.

    frame
        A query as a Spark dataframe.  Without it, no expectation that has no SQL of its own can be
        declared, and a temporary view is made of its text.
    glance
        How a Delta table stands, by its log; None: not known, DESCRIBE DETAIL is to be asked.
        Without it, that is asked of every table.
    commits
        The newest commits of a Delta table above a version, newest first, at most so many; None:
        not known.  Without it, DESCRIBE HISTORY is asked.
    meanwhile
        Does something beside what the session does.  Without it, one is done after the other.
    measured
        Measures what is read inside.  Without it, the log of runs does not say what was read.
    for_little
        What is executed inside reads kilobytes: it is interpreted instead of compiled.  Without it,
        the engine executes it as it would anything.
    planned_once
        What is executed inside joins nothing whose size is unknown: to plan it again while it runs
        is of no use.  Without it, the engine plans as it is set to.
    keeps_memory
        Does what Spark keeps in memory stay there, as where all of Spark is one process?  On a
        cluster what a lost executor kept is computed anew, and a condition that asks another table
        might then find something else there.  Without it, new rows are staged in a table.
    input_files
        How many files a query would read, told from its plan.  Without it, `tapestry explain`
        says how many bytes are read and not in how many files.
    """

    frame: Callable[[str], Any] | None = None
    glance: Callable[[str], Glance | None] = lambda name: None
    commits: Callable[[str, int, int], list[LoggedCommit] | None] = lambda name, above, most: None
    meanwhile: Begin | None = None
    measured: Callable[[], AbstractContextManager[ReadVolume]] = lambda: nullcontext(ReadVolume())
    for_little: Callable[[], AbstractContextManager[None]] = nullcontext
    planned_once: Callable[[], AbstractContextManager[None]] = nullcontext
    keeps_memory: Callable[[], bool] = lambda: False
    input_files: Callable[[str], int | None] = lambda sql: None


ONLY_SQL = Capabilities()
"""An engine that offers nothing else."""
