"""The interface of runs to an engine: SQL text, rows, and further capabilities."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from tapestry.runs.engine.glance import Glance, LoggedCommit
from tapestry.runs.engine.stop_after import Stopped


class Begin(Protocol):
    """Begins a task in another thread, where it may use the same session."""

    def __call__(self, task: Callable[[], T], /) -> Future[T]:
        """Begin the task; the future gives what it returns, or raises what it raised."""
        ...


@dataclass(frozen=True)
class Capabilities:
    """The capabilities of a session besides SQL: they change costs, and what can be told.

    What a run writes is the same without them, with one exception: without ``frame``, expectations
    that only Great Expectations can check are refused.

    frame
        Returns a query as a Spark dataframe. Without it, no expectation that has no SQL of its own
        can be declared, and a temporary view is made of its text.
    glance
        Returns a Delta table's state by its log; None: not known, DESCRIBE DETAIL is executed.
        Without it, that is executed for every table.
    commits
        Returns at most so many of a Delta table's newest commits above a version, newest first;
        None: not known. Without it, DESCRIBE HISTORY is executed.
    meanwhile
        Does a task beside the session's statements. Without it, one is done after the other.
    measured
        Measures the reads of the statements inside. Without it, the log of runs lacks them.
    for_little
        Has statements inside, which read kilobytes, interpreted instead of compiled. Without it,
        the engine executes them like any others.
    planned_once
        Turns off adaptive planning inside, for statements that join only tables of known size.
        Without it, the engine plans as it is set to.
    keeps_memory
        Returns whether cached data stays, as where all of Spark is one process. On a cluster a
        lost executor's data is computed anew, and a condition that reads another table might then
        find something else there. Without it, new rows are staged in a table.
    apart
        Opens another session of the same engine with settings of its own, closed on leaving.
        Without it, statements that need a setting are refused.
    has_table
        Returns whether the catalog knows a table; None where it cannot tell. Without it, tables are
        listed by a statement.
    stop_after
        Stops the statements inside after so many seconds. Without it, a batch of an action takes
        as long as it does.
    input_files
        Returns how many files a query would read, by its plan. Without it, `tapestry explain`
        says how many bytes are read and not in how many files.
    """

    frame: Callable[[str], Any] | None = None
    has_table: Callable[[str], bool | None] = lambda name: None
    glance: Callable[[str], Glance | None] = lambda name: None
    commits: Callable[[str, int, int], list[LoggedCommit] | None] = lambda name, above, most: None
    meanwhile: Begin | None = None
    measured: Callable[[], AbstractContextManager[ReadVolume]] = lambda: nullcontext(ReadVolume())
    for_little: Callable[[], AbstractContextManager[None]] = nullcontext
    planned_once: Callable[[], AbstractContextManager[None]] = nullcontext
    keeps_memory: Callable[[], bool] = lambda: False
    input_files: Callable[[str], int | None] = lambda sql: None
    apart: Callable[[Mapping[str, str]], AbstractContextManager[Session]] | None = None
    stop_after: Callable[[float], AbstractContextManager[Stopped]] = lambda seconds: nullcontext(
        Stopped()
    )


ONLY_SQL = Capabilities()
"""An engine that offers nothing else."""


@dataclass
class ReadVolume:
    """The files of tables and bytes that were read; None: unknown.

    ``look`` finds them out once the reading is over: an engine's counters come after its answers.
    """

    files: int | None = None
    bytes: int | None = None
    look: Callable[[], None] = field(default=lambda: None, compare=False)


T = TypeVar("T")


class Session(Protocol):
    """A connection that speaks Spark SQL, the same for session, thrift and connect.

    ``can`` has its further capabilities. A subclass that does not set it offers SQL only.
    """

    can: Capabilities = ONLY_SQL

    def run(self, sql: str) -> None:
        """Execute a statement and ignore its rows."""
        ...

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Execute a query and return all of its rows."""
        ...


def for_little(session: Session, little: bool) -> AbstractContextManager[None]:
    """Return a context for statements over kilobytes, executed faster if the session can."""
    return session.can.for_little() if little else nullcontext()


def planned_once(session: Session, wanted: bool) -> AbstractContextManager[None]:
    """Return a context without adaptive planning, for joins whose sizes are known."""
    return session.can.planned_once() if wanted else nullcontext()


@contextmanager
def meanwhile(session: Session, task: Callable[[], T], wanted: bool) -> Iterator[Callable[[], T]]:
    """Do a task while the statements inside are executed; yield a function that waits for it.

    Neither may depend on the other. Where a session cannot do two things at once, or that is not
    ``wanted``, the task is done first. On leaving, the task is over, however it went.
    """
    begin = session.can.meanwhile
    if begin is None or not wanted:
        done = task()
        yield lambda: done
        return
    future = begin(task)
    try:
        yield future.result
    finally:
        wait([future])
