"""The state that all models of one ``dbt run`` share: the clock, the pins, the state as read."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from threading import Lock
from typing import Any, TypeVar

from tapestry.names import COMMITS_TABLE, QUERIES_TABLE
from tapestry.runs.context.clock import Clock
from tapestry.runs.context.recall import Recall
from tapestry.runs.context.shared_views import SharedViews
from tapestry.runs.context.switches import Switches
from tapestry.runs.engine.glance import Glance
from tapestry.runs.engine.odd_rows import OddRow
from tapestry.runs.engine.own_tables import in_schema_of
from tapestry.runs.engine.session import Session
from tapestry.runs.sources.describe import DeltaSource
from tapestry.runs.sources.pins import Pin, Pinned, Pins
from tapestry.runs.tables.noted_runs import claims_up_to, other_claims
from tapestry.runs.tables.state import read_states, readable, record
from tapestry.runs.tables.state_row import StateRow
from tapestry.runs.tables.target import look
from tapestry.sql import View


class WarmPins(Pins):
    """The pins of one invocation; a source whose definition is unchanged is not described again.

    ``zone`` is the session's: what is known of columns of local times depends on it.
    """

    def __init__(self, recall: Recall, zone: str, commits_table: str = "") -> None:
        super().__init__(commits_table)
        self._recall, self._zone = recall, zone
        self._warm_lock = Lock()

    def of(self, session: Session, name: str) -> Pinned | View:
        """Return the source behind ``name`` at this invocation's pin."""
        with self._warm_lock:
            if name in self.left:
                self.look_again(name)
            if name in self._known:
                return self._known[name]
            now = _detail(session, name)
            pinned = None if now is None else self._recall.source(name, self._zone, now)
            if pinned is None:
                # Looked at before it is described: a commit in between is seen the next time.
                found = super().of(session, name)
                if isinstance(found, View) or now is None:
                    return found
                pinned, after = found, _detail(session, name)
                if after is None or after.definition != now.definition:
                    now = replace(now, definition="")  # redefined in the meantime
            assert now is not None  # ``pinned`` was found by it, or is new
            self._recall.note_source(name, self._zone, now, pinned)
            log = (pinned.table.location, pinned.table.table_id)
            pin = self.logs.setdefault(log, pinned.pin)
            self._known[name] = found = pinned if pin == pinned.pin else replace(pinned, pin=pin)
            return found

    def _with_commits(self, session: Session, pinned: Pinned) -> DeltaSource:
        def find() -> DeltaSource:
            return super(WarmPins, self)._with_commits(session, pinned)

        key = ("commits", self.commits_table, pinned.table.name, pinned.pin)
        return self._recall.change(key, find)


def _detail(session: Session, name: str) -> Glance | None:
    """Return a Delta table's detail; None for a view and a missing table (``describe`` tells)."""
    try:
        return look(session, name)
    except Exception:
        return None


T = TypeVar("T")


@dataclass
class StatesRead:
    """The state as an invocation has read it, updated by its own runs.

    complete
        Continuous models that this invocation has dealt with: the instant up to which their
        answers are complete in their tables.
    unrecorded
        Its runs that have landed without a claim, and that the table lacks as yet.
    """

    table: str
    recall: Recall
    complete: dict[str, datetime] = field(default_factory=dict)
    unrecorded: list[StateRow] = field(default_factory=list)
    _read: dict[str, dict[str, StateRow | OddRow] | None] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)
    _recording: Lock = field(default_factory=Lock)

    def of(self, session: Session, generation: str, table: str = "") -> StateRow | None:
        """Return the newest row of a generation, from the state table (or another one).

        A table is read once an invocation: a claim decides which run goes on from a row, so that it
        need not be the newest any more. Raises StateUnreadable for a row that no run has written;
        those of other generations do not matter here.
        """
        table = table or self.table
        with self._lock:
            if table not in self._read:
                first = self.recall.empty and table not in self.recall.claims
                if table == self.table and first:
                    self._note_claims(claims_up_to(session, table))
                self._read[table] = read_states(session, table)
            return readable((self._read[table] or {}).get(generation))

    def claimed(self, row: StateRow) -> None:
        """Remember a row that this invocation has claimed.

        Only if the table was read: for other models, one that was not read yet still has to be.
        """
        with self._lock:
            states = self._read.get(self.table)
            if states is None:
                self._read.pop(self.table, None)
            else:
                states[row.generation] = row

    def landed(self, row: StateRow) -> None:
        """Remember a run that has landed without a claim: it is to be recorded."""
        with self._lock:
            self.unrecorded.append(row)
        self.claimed(row)

    def record(self, session: Session, ends: bool = True) -> None:
        """Write the rows of runs that have landed without a claim into the table, in one commit.

        ends
            The invocation is over: no other run of it is under way.

        A run whose row could not be written is read again from its table's log by the next one,
        and the row of one whose number another run had claimed from the state. Raises the errors
        of the statements.
        """
        with self._recording:  # who finds nothing to be written goes on from what was
            self._record(session, ends)

    def _record(self, session: Session, ends: bool) -> None:
        with self._lock:
            rows, self.unrecorded = self.unrecorded, []
        if not rows:
            return
        try:
            others = other_claims(session, self.table, rows, self.recall.claims.get(self.table))
            written = record(session, self.table, rows, others.runs)
        except BaseException:
            self._look_again(rows)
            raise
        if changed := [row for row, found in zip(rows, written, strict=True) if row != found]:
            self._look_again(changed)
        if ends:
            # Runs under way would overlook claims from before that of their own numbers.
            if others.until is not None:
                self.recall.forget_claimed(others.newest, others.looked_at)
            self._note_claims(others.until)
            self.forget()  # who looks at a model after that has to see those claims

    def forget_unrecorded(self) -> None:
        """Forget runs whose rows nobody will write: the next run of each model does it."""
        with self._lock:
            rows, self.unrecorded = self.unrecorded, []
        if rows:
            self._look_again(rows)

    def _look_again(self, rows: Sequence[StateRow]) -> None:
        """Forget runs of which the state does not say what they know of themselves."""
        for row in rows:
            self.recall.forget(row.model)
        self.forget()

    def _note_claims(self, until: Pin | None) -> None:
        if until is None:
            self.recall.claims.pop(self.table, None)
        else:
            self.recall.claims[self.table] = until

    def forget(self) -> None:
        """Forget the rows that were read: the state is read again."""
        with self._lock:
            self._read.clear()


@dataclass
class AskedOfMemories:
    """The requests of an invocation's runs to memories (``tapestry.runs.memories.ask``).

    distrusting
        Models whose runs are to read no memory, for one that did has failed.
    """

    requests: list[Any] = field(default_factory=list)
    distrusting: set[str] = field(default_factory=set)


@dataclass
class Invocation:
    """One invocation; models in several threads share it.

    settings
        The session's settings that change answers and are not standard, ``key = value`` each.
    switches
        The models that the operator has switched off.
    log
        Entries for ``tapestry_runs``, one for each run that committed or whose checks failed.
    states
        The rows of the state.
    asked
        Requests of its runs to memories, and the models whose runs are to make none.
    shared
        Views of sources that its models share in memory; to be released when it ends.
    """

    id: str
    clock: Clock
    state_table: str
    time_zone: str = "UTC"
    recall: Recall = field(default_factory=Recall)
    settings: tuple[str, ...] = ()
    pins: Pins = field(init=False)
    switches: Switches = field(init=False)
    states: StatesRead = field(init=False)
    log: list[Any] = field(default_factory=list)
    asked: AskedOfMemories = field(default_factory=AskedOfMemories)
    shared: SharedViews = field(default_factory=SharedViews)

    def __post_init__(self) -> None:
        commits = in_schema_of(self.state_table, COMMITS_TABLE)
        self.pins = WarmPins(self.recall, self.time_zone, commits)
        now = self.clock.read_at or self.clock.instant
        self.states = StatesRead(self.state_table, self.recall)
        self.switches = Switches(in_schema_of(self.state_table, QUERIES_TABLE), now, self.recall)

    def remember(self, key: Hashable, find: Callable[[], T]) -> T:
        """Return a fact about a source, found or remembered, for sessions with these settings.

        The instant that a DATE or a local time means depends on the session's zone.
        """
        return self.recall.change((self.time_zone, self.settings, key), find)

    def forget(self, model: str) -> None:
        """Read the state again: another run of the model is or was under way."""
        self.recall.forget(model)
        self.states.forget()
