"""What all models of one ``dbt run`` share: the clock, the pins, the state as it was read."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from datetime import datetime
from threading import Lock
from typing import Any, TypeVar

from tapestry.runs.context.clock import Clock
from tapestry.runs.context.recall import Recall
from tapestry.runs.context.shared_views import SharedViews
from tapestry.runs.context.switches import Switches
from tapestry.runs.context.warm_pins import WarmPins
from tapestry.runs.engine.odd_rows import OddRow
from tapestry.runs.engine.session import Session
from tapestry.runs.sources.kept_commits import commits_beside
from tapestry.runs.sources.pins import Pins
from tapestry.runs.tables.queries import queries_beside
from tapestry.runs.tables.state import read_states, readable
from tapestry.runs.tables.state_row import StateRow

T = TypeVar("T")


@dataclass
class Invocation:
    """One invocation; models in several threads share it.

    settings
        The session's settings that change answers and are not as usual, ``key = value`` each.
    complete
        Continuous models that this invocation has dealt with: the instant up to which their
        answers are complete in their tables.
    switches
        Which models the operator has switched off.
    log
        Entries for ``tapestry_runs``, one for each run that committed or whose checks failed.
    requests
        What its runs asked of memories (``tapestry.runs.memories.ask``).
    shared
        What its models read of sources together, in memory; to be released when it ends.
    distrusting
        Models whose runs are to read no memory, for one that did has failed.
    """

    id: str
    clock: Clock
    state_table: str
    time_zone: str = "UTC"
    recall: Recall = field(default_factory=Recall)
    settings: tuple[str, ...] = ()
    pins: Pins = field(init=False)
    switches: Switches = field(init=False)
    complete: dict[str, datetime] = field(default_factory=dict)
    log: list[Any] = field(default_factory=list)
    requests: list[Any] = field(default_factory=list)
    shared: SharedViews = field(default_factory=SharedViews)
    distrusting: set[str] = field(default_factory=set)
    _states: dict[str, dict[str, StateRow | OddRow] | None] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def __post_init__(self) -> None:
        self.pins = WarmPins(self.recall, self.time_zone, commits_beside(self.state_table))
        now = self.clock.read_at or self.clock.instant
        self.switches = Switches(queries_beside(self.state_table), now, self.recall)

    def state(self, session: Session, generation: str, table: str = "") -> StateRow | None:
        """The newest row of a generation, from the state table (or another one).

        A table is read once an invocation: a claim decides who goes on from a row, so that it need
        not be the newest any more. Raises StateUnreadable for a row that no run has written; those
        of other generations do not matter here.
        """
        table = table or self.state_table
        with self._lock:
            if table not in self._states:
                self._states[table] = read_states(session, table)
            return readable((self._states[table] or {}).get(generation))

    def remember(self, key: Hashable, find: Callable[[], T]) -> T:
        """What was found out about a source before, in a session that reads it alike.

        Which instant a DATE or a local time is depends on the session's zone.
        """
        return self.recall.change((self.time_zone, self.settings, key), find)

    def forget(self, model: str) -> None:
        """Read the state again: another run of the model is or was under way."""
        self.recall.forget(model)
        with self._lock:
            self._states.clear()

    def claimed(self, row: StateRow) -> None:
        """Remember the row of this invocation's own.

        Only beside all others: a table that was not read yet still has to be, for other models.
        """
        with self._lock:
            states = self._states.get(self.state_table)
            if states is None:
                self._states.pop(self.state_table, None)
            else:
                states[row.generation] = row
