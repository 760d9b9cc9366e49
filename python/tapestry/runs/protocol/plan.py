"""A plan says what one run of one model will do, before anything is written.

A kind of model decides (``kind.py``); ``run.py`` carries out what is decided.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
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
from tapestry.runs.tables.state_row import StateRow


@dataclass(frozen=True)
class Figures:
    """Figures that are told of a run beside its rows.

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
    """A plan's words to people.

    finished
        What a run did that had crashed and was brought to its end before this was decided.
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

    It raises ConcurrentRun where another process got ahead of ``row``.
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
    """A run's circumstances, known from what stands there already.

    again
        The run was claimed before and has crashed: it is executed once more.
    complete_history
        The target's log can still tell whether the run has landed.
    warm
        Planned from what this process remembers of the state (see ``Standing``).
    attempt
        Which execution of the run before has rejected rows that count; None: unknown.
    """

    again: bool = False
    complete_history: bool = True
    warm: bool = False
    attempt: str | None = None


@dataclass(frozen=True)
class Beforehand:
    """A run writes these before its new rows are computed, in this order.

    commits
        When the sources' commits were made, as far as that is not kept yet.
    statements
        Executed before the sources can be read as the query reads them.
    beside
        What it writes into kept tables of its target.
    """

    commits: tuple[UnkeptCommits, ...] = ()
    statements: tuple[str, ...] = ()
    beside: tuple[WrittenBeside, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.commits or self.statements or self.beside)


@dataclass(frozen=True)
class Proof:
    """A run is checked by these, besides the expectations on its rows.

    assumptions
        What the author assumes, each with a SELECT of the number of cases that break it.
    verification
        What the new rows are verified with; None: they are not.
    """

    assumptions: tuple[tuple[str, str], ...] = ()
    verification: Verification | None = None


@dataclass(frozen=True)
class Planned:
    """``row`` is claimed, ``before`` done, ``proof`` given, the new rows are committed.

    Where there is something to check on the new rows they are staged and checked in between.

    ready
        Executed when all checks are passed, just before the commit.
    little
        All that the query reads is small.
    requests
        What it asked of memories.
    traceless
        Where it finds no rows it leaves no trace: its window is the next run's, too.
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
        """create | append | replace | overwrite."""
        return self.writing.action

    @property
    def replaces(self) -> bool:
        """The rows of a table that is there make way."""
        return self.writing.replaces

    @property
    def main(self) -> str:
        """The statement that commits the new rows where nothing keeps any of them out."""
        return self.writing.statement(self.rows.unchecked)

    @property
    def unsure(self) -> bool:
        """Has it crashed, and can the log no longer say whether it has landed?"""
        return self.circumstances.again and not self.circumstances.complete_history

    @property
    def claims_beside(self) -> bool:
        """Can its n be claimed while its rows are computed? Nobody sees them before the commit."""
        return (
            self.circumstances.warm
            and bool(self.rows.holding.rows)
            and not (self.before.statements or self.before.beside)
        )

    @property
    def remembers(self) -> bool:
        """Does it read a memory?"""
        return any(request.found.relation for request in self.requests)

    @property
    def checks_rows(self) -> bool:
        """Are the new rows staged, to be checked or because they are made from those of the table?

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
        """What is executed, for people."""

    @abstractmethod
    def carry_out(self, session: Session, invocation: Invocation) -> Outcome:
        """Do it; raises what the model's kind says."""


Decided: TypeAlias = Nothing | Planned | OwnRun
"""What is left to be done once everything that had crashed is brought to its end."""
Plan: TypeAlias = Decided | Leftover | CloseRun
