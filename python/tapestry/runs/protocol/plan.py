"""A plan of one run of one model: all that it will do, before anything is written.

A kind of model makes it (``kind.py``); ``run.py`` carries it out.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import ClassVar, TypeAlias

from tapestry.runs.checks.new_rows import NewRows
from tapestry.runs.checks.verification import Verification
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.session import Session
from tapestry.runs.memories.ask import MemoryRequest
from tapestry.runs.model.model import Model
from tapestry.runs.protocol.outcome import Outcome
from tapestry.runs.protocol.refreshed import NOT_REFRESHED, Refreshed
from tapestry.runs.protocol.writing import Writing
from tapestry.runs.sources.kept_commits import UnkeptCommits
from tapestry.runs.tables.kept import WrittenBeside
from tapestry.runs.tables.noted_runs import written_in_note
from tapestry.runs.tables.state_row import StateRow


@dataclass(frozen=True)
class Figures:
    """Figures that are reported of a run beside its rows.

    horizon
        The least instant up to which an upstream continuous model is complete; None: there is none.
    """

    strategy: str = ""
    late_rows: int = 0
    null_rows: int = 0
    horizon: datetime | None = None
    refreshed: Refreshed = NOT_REFRESHED


@dataclass(frozen=True)
class Told:
    """A plan's messages to people.

    finished
        The outcome of a crashed run that was completed before this was decided.
    seconds
        How long it took to decide.
    """

    warnings: tuple[str, ...] = ()
    figures: Figures = Figures()
    finished: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class Nothing:
    """There is nothing to do.

    t
        The instant up to which the target's answers are complete; None: there is no target.
    """

    action: ClassVar[str] = "nothing"

    model: Model
    t: datetime | None = None
    told: Told = Told()


@dataclass(frozen=True)
class Leftover:
    """A command was killed before it was done with the table; ``finish`` does the rest.

    ``finish`` raises ConcurrentRun where another process got ahead of ``row``.
    """

    row: StateRow
    finish: Callable[[Session, StateRow], None]


@dataclass(frozen=True)
class CloseRun:
    """A run whose checks failed, or that no longer fits the model: it is closed without rows."""

    model: Model
    row: StateRow


@dataclass(frozen=True)
class Circumstances:
    """A run's circumstances, known from the state and the table.

    again
        The run was claimed before and has crashed: it is executed once more.
    complete_history
        The target's log can still tell whether the run has landed.
    warm
        Planned from what this process remembers of the state (see ``Standing``).
    attempt
        Which execution of the run before has rejected rows that count; None: unknown.
    last_sql
        The query of the run before, as its author wrote it; None: there was none, or an earlier
        version wrote its row. Processes of that version would not know of a run without a claim;
        the row of a claimed one stops them.
    """

    again: bool = False
    complete_history: bool = True
    warm: bool = False
    attempt: str | None = None
    last_sql: str | None = None


@dataclass(frozen=True)
class Beforehand:
    """The writes of a run before its new rows are computed, in this order.

    commits
        The times of the sources' commits that are not kept yet.
    statements
        Executed before the sources can be read as the query reads them.
    beside
        Rows for kept tables of its target.
    """

    commits: tuple[UnkeptCommits, ...] = ()
    statements: tuple[str, ...] = ()
    beside: tuple[WrittenBeside, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.commits or self.statements or self.beside)


@dataclass(frozen=True)
class Proof:
    """The checks of a run besides the expectations on its rows.

    assumptions
        The author's assumptions, each with a SELECT of the number of cases that break it.
    verification
        The verification of the new rows; None: they are not verified.
    """

    assumptions: tuple[tuple[str, str], ...] = ()
    verification: Verification | None = None


@dataclass(frozen=True)
class Planned:
    """A run: ``row`` is claimed, ``before`` written, ``proof`` checked, new rows are committed.

    If the new rows are to be checked, they are staged and checked in between.

    ready
        Executed when all checks are passed, just before the commit.
    little
        All tables that the query reads are small.
    requests
        Its requests to memories.
    traceless
        If it finds no rows it leaves no trace: its window is the next run's, too.
    """

    row: StateRow
    rows: NewRows
    writing: Writing
    state_table: str
    before: Beforehand = Beforehand()
    proof: Proof = Proof()
    ready: tuple[str, ...] = ()
    circumstances: Circumstances = Circumstances()
    told: Told = Told()
    little: bool = False
    requests: tuple[MemoryRequest, ...] = ()
    traceless: bool = False

    @property
    def model(self) -> Model:
        """The model that is run."""
        return self.rows.model

    @property
    def t(self) -> datetime:
        """The instant up to which the target's answers are complete when the run is over."""
        return self.row.after.t

    @property
    def action(self) -> str:
        """The way of writing: create | append | replace | overwrite."""
        return self.writing.action

    @property
    def replaces(self) -> bool:
        """Whether the rows of an existing table are replaced."""
        return self.writing.replaces

    @property
    def main(self) -> str:
        """The statement that commits the new rows where nothing keeps any of them out."""
        return self.writing.statement(self.rows.unchecked)

    @property
    def unsure(self) -> bool:
        """Whether it has crashed, and the log can no longer say whether it has landed."""
        return self.circumstances.again and not self.circumstances.complete_history

    @property
    def writes_beside(self) -> bool:
        """Whether rows beside the table are written before the commit, by which n they count."""
        drops = any(one.expectation.on_violation == "drop" for one in self.rows.expected)
        whole = self.rows.whole
        rejects = drops or (whole is not None and bool(whole.rejected))
        return rejects or bool(self.before.statements or self.before.beside)

    @cached_property
    def claims_by_commit(self) -> bool:
        """Whether its commit claims n: until then it writes nothing that counts for anybody.

        Its commit's note is the row of the state, but for the query, which is that of the run
        before. A run that fails is claimed first, so that its n can be closed.
        """
        row, before = self.row, self.row.before
        same = before is not None and row.n > 1 and before.canonical == row.after.canonical
        same = same and row.sql == self.circumstances.last_sql
        plain = not (self.ready or self.replaces or self.writes_beside or self.circumstances.again)
        return same and plain and written_in_note(row) is not None

    @property
    def remembers(self) -> bool:
        """Whether it reads a memory."""
        return any(request.found.relation for request in self.requests)

    @property
    def checks_rows(self) -> bool:
        """Whether the new rows are staged, to be checked or as they are made from the table's.

        Else they go into the target directly.
        """
        checks = bool(self.rows.expected) or self.proof.verification is not None
        return checks or self.writing.rests_on_table


class OwnRun(ABC):
    """A run that writes no table of its model's own: it carries itself out."""

    action: ClassVar[str] = "perform"

    model: Model
    told: Told

    @property
    @abstractmethod
    def main(self) -> str:
        """The statement that is executed, for people."""

    @abstractmethod
    def carry_out(self, session: Session, invocation: Invocation) -> Outcome:
        """Carry the run out; raises the errors of the model's kind."""


Decided: TypeAlias = Nothing | Planned | OwnRun
"""The work that remains once every run that had crashed is brought to its end."""
Plan: TypeAlias = Decided | Leftover | CloseRun
