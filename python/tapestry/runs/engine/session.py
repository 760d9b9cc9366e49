"""What a run asks of an engine: take SQL text, give rows, and say what else it can do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from tapestry.runs.engine.glance import Glance, LoggedCommit
from tapestry.runs.engine.stop_after import Stopped


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
    apart
        Another session of the same engine with settings of its own, to be closed when what is
        inside is over.  Without it, what needs a setting for a statement is refused.
    stop_after
        What is executed inside is stopped when it has taken so many seconds.  Without it, a batch
        of an action takes as long as it does.
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
    apart: Callable[[Mapping[str, str]], AbstractContextManager[Session]] | None = None
    stop_after: Callable[[float], AbstractContextManager[Stopped]] = lambda seconds: nullcontext(
        Stopped()
    )


ONLY_SQL = Capabilities()
"""An engine that offers nothing else."""


@dataclass
class ReadVolume:
    """Files of tables and bytes that were read; None: nobody knows.

    ``look`` finds them out, once the reading is over: an engine's counters come after its answers.
    """

    files: int | None = None
    bytes: int | None = None
    look: Callable[[], None] = field(default=lambda: None, compare=False)


T = TypeVar("T")


class Session(Protocol):
    """A connection that speaks Spark SQL; session, thrift and connect look alike through it.

    ``can`` says what this one offers besides.  A class that names this one as its base and says
    nothing of it offers SQL only.
    """

    can: Capabilities = ONLY_SQL

    def run(self, sql: str) -> None:
        """Execute a statement whose rows nobody wants."""
        ...

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Execute a query and return all of its rows."""
        ...


def for_little(session: Session, little: bool) -> AbstractContextManager[None]:
    """What is executed inside reads kilobytes; a session that has a way to heed that does so."""
    return session.can.for_little() if little else nullcontext()


def planned_once(session: Session, wanted: bool) -> AbstractContextManager[None]:
    """What is executed inside joins nothing whose size is unknown: to plan it again is no use."""
    return session.can.planned_once() if wanted else nullcontext()


@contextmanager
def meanwhile(session: Session, task: Callable[[], T], wanted: bool) -> Iterator[Callable[[], T]]:
    """Do something while what is inside is executed; what is given waits for its result.

    Neither may depend on the other.  Where a session cannot do two things at once, or that is not
    ``wanted``, the task is done first.  When this is left the task is over, however it went.
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
