"""Whole runs without Spark: a source as a list of commits, a model of all of its rows.

What plans a run where it stands, claims, commits, closes, confirms and rewinds it is the code that
runs on Spark; only the query is one that needs no engine: each row of the source is an answer from
its ts on, or from just after the run before where it turns up late.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from tests.killed import Killed
from tests.runs.fake_delta import FakeDelta, Row
from tests.runs.fake_session import FakeSession

from tapestry.instants import micros
from tapestry.names import GENERATION_PROPERTY, MATCHED_AT
from tapestry.quoting import string, timestamp
from tapestry.runs.checks.new_rows import NewRows
from tapestry.runs.context.clock import Clock, window_end
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.own_tables import OwnTable
from tapestry.runs.engine.session import Session
from tapestry.runs.engine.values import note_of_ours
from tapestry.runs.kinds import registry
from tapestry.runs.kinds.continuous import plan_run as continuous
from tapestry.runs.kinds.continuous.after import plan_rewind as rewinding
from tapestry.runs.kinds.continuous.after.rewind import rewind
from tapestry.runs.kinds.continuous.plan_run import Decision
from tapestry.runs.kinds.registry import parse_config
from tapestry.runs.model.model import Model
from tapestry.runs.protocol import run
from tapestry.runs.protocol.claiming import closing, first_row
from tapestry.runs.protocol.plan import Beforehand, Decided, Plan, Planned
from tapestry.runs.protocol.standing import Standing, stand
from tapestry.runs.protocol.writing import Appending, Creation
from tapestry.runs.query.relations import Relations
from tapestry.runs.sources.pins import Pin
from tapestry.runs.tables.claims import write_once
from tapestry.runs.tables.run_identity import RunIdentity
from tapestry.runs.tables.state_row import Position, StateRow
from tapestry.runs.tables.target import metadata, transaction
from tapestry.sql import Catalog

BEGIN = datetime(2026, 1, 1, tzinfo=timezone.utc)
COLUMNS = ("id", MATCHED_AT)
TARGET, STATE, SOURCE = "s.target", "s.tapestry_state", "s.messages"
LATE = "s.target__late"
TICK = timedelta(microseconds=1)


def at(seconds: float) -> datetime:
    """The instant so many seconds after the beginning."""
    return BEGIN + timedelta(seconds=seconds)


@dataclass
class FakeWorld:
    """One source, one model; every ``run`` is an invocation of a process of its own.

    source
        The commits of the source: (id, ts in seconds) of each row.
    broken
        Ids of which the statements of this process fail.
    late
        The late rows that each run has found, by its id: they are kept beside the table.
    """

    delta: FakeDelta = field(default_factory=FakeDelta)
    source: list[list[tuple[int, float]]] = field(default_factory=list)
    broken: set[int] = field(default_factory=set)
    late: dict[str, list[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.session = FakeSession(self.delta)

    def another(self) -> FakeWorld:
        """The same world as another process sees it, with a session of its own."""
        return FakeWorld(self.delta, self.source, late=self.late)

    def add(self, *rows: tuple[int, float]) -> None:
        """One commit of the source."""
        self.source.append(list(rows))

    def model(self, sql: str = "all of them", **config: Any) -> Model:
        """The model; another text is another query with the same answers."""
        parsed = parse_config(
            "continuous", {"verify": "off", "on_query_change": "continue", **config}
        )
        return Model("target", TARGET, sql, parsed, {}, "models/target.sql")

    def invocation(self, seconds: float) -> Invocation:
        """An invocation whose t is so many seconds after the beginning."""
        return Invocation("test", Clock(at(seconds)), STATE)

    def run(
        self,
        seconds: float,
        model: Model | None = None,
        refresh: bool = False,
        invocation: Invocation | None = None,
    ) -> run.Outcome:
        """Plan a run and carry it out."""
        invocation = invocation or self.invocation(seconds)
        try:
            planned = self.plan(invocation, model, refresh)
            return registry.execute(self.session, planned, invocation)
        finally:
            if not isinstance(sys.exc_info()[1], Killed):
                self.record(invocation)

    def plan(
        self, invocation: Invocation, model: Model | None = None, refresh: bool = False
    ) -> Decided:
        """Plan a run."""
        knowing = self.knowing(invocation)
        return registry.prepare(self.session, model or self.model(), knowing, refresh)

    def record(self, invocation: Invocation) -> None:
        """End an invocation: its runs that had no claim are recorded."""
        invocation.states.record(self.session)

    def knowing(self, invocation: Invocation) -> Invocation:
        """An invocation of which the planning finds this world again."""
        vars(invocation)["world"] = self
        return invocation

    def stand(self, model: Model | None = None, refresh: bool = False) -> Standing:
        """Where the model stands, for a process that remembers nothing."""
        return stand(self.session, model or self.model(), self.invocation(0), refresh)

    def stand_in(self, invocation: Invocation) -> Standing:
        """Where the model stands, as an invocation finds it."""
        return stand(self.session, self.model(), invocation, False)

    def rewind(self, seconds: float) -> None:
        """Forget every answer after an instant."""
        invocation = self.knowing(self.invocation(seconds))
        planned = rewinding.plan_rewind(self.session, self.model(), invocation, at(seconds))
        if planned is not None:
            rewind(self.session, planned, invocation)

    def answers(self) -> list[tuple[int, float]]:
        """What stands in the target, in order; ``_matched_at`` in seconds."""
        rows = self.delta.table(TARGET).newest.rows
        return sorted((row["id"], (row[MATCHED_AT] - micros(BEGIN)) / 1e6) for row in rows)

    def ids(self) -> list[int]:
        """The ids of the answers, in order."""
        return [i for i, _ in self.answers()]

    def due(self, seconds: float) -> list[int]:
        """The ids that a table which is complete up to an instant has, in order."""
        return sorted(i for commit in self.source for i, ts in commit if ts <= seconds)

    def kept_late(self) -> tuple[list[int], list[int]]:
        """The late rows beside the table that count, and those that its runs have found."""
        table = self.delta.table(TARGET)
        generation = table.newest.properties[GENERATION_PROPERTY]
        notes = [note_of_ours(one.note) for one in table.commits]
        ours = [n for n in notes if n.get("generation") == generation and not n.get("failed")]
        found = [i for n in ours for i in self.late.get(n["run_id"], ())]
        row = self.stand().row
        assert row is not None
        rows = self.delta.table(LATE).newest.rows if LATE in self.delta.tables else ()
        counted = [
            one["id"]
            for one in rows
            if one["generation"] == row.generation
            and one["n"] <= row.n
            and one["n"] not in row.failed
        ]
        return sorted(counted), sorted(found)

    def states(self) -> list[Row]:
        """The rows of the state."""
        return list(self.delta.table(STATE).newest.rows)

    def select(self, row: StateRow) -> str:
        """The new answers of a run, as a query of values."""
        read, before = row.after.pins[SOURCE].version, row.before
        seen = -1 if before is None else before.pins[SOURCE].version
        new = []
        for version, commit in enumerate(self.source[: read + 1]):
            for i, seconds in commit:
                ts, tau = at(seconds), row.since
                late = tau is not None and ts <= tau
                if ts > row.after.t or (late and version <= seen):
                    continue
                if i in self.broken:
                    return f"BROKEN {i}"
                new.append((i, tau + TICK if late and tau is not None else ts))
        given = ", ".join(
            f"({i}, {timestamp(instant)})" for i, instant in new or [(0, row.after.t)]
        )
        none = "" if new else " WHERE false"
        return f"SELECT * FROM VALUES {given} AS v(id, {MATCHED_AT}){none}"

    def late_in(self, row: StateRow) -> list[int]:
        """The late rows of a run: of commits since the run before, from before that one ended."""
        assert row.before is not None
        assert row.since is not None
        seen, read = row.before.pins[SOURCE].version, row.after.pins[SOURCE].version
        new = (one for commit in self.source[seen + 1 : read + 1] for one in commit)
        return [i for i, ts in new if at(ts) <= row.since]


@dataclass(frozen=True)
class _Late:
    """Late rows, kept beside the table under the number of their run."""

    world: FakeWorld
    ids: tuple[int, ...]
    tidies: ClassVar[bool] = False

    def write(self, session: Session, run: RunIdentity) -> None:
        self.world.late[run.run_id] = list(self.ids)
        own = OwnTable(LATE, {"generation": "string", "n": "bigint", "id": "bigint"}, "late rows")
        rows = [
            {"generation": string(run.generation), "n": str(run.n), "id": str(i)} for i in self.ids
        ]
        under = transaction(f"late.{run.generation}", run.n, metadata(*_named(run), {}))
        write_once(session, own, own.inserting(rows, under))


def _named(run: RunIdentity) -> tuple[str, int, str]:
    return run.generation, run.n, run.run_id


@dataclass(frozen=True)
class _Read:
    """As much of a query as planning asks for."""

    canonical: str
    begin: datetime | None
    pins: Mapping[str, Pin]
    relations: Relations = field(default_factory=lambda: Relations(Catalog({}), {}))
    commits: tuple[datetime, ...] = ()


class _Plans(Decision):
    """Plans as the kind `continuous` does, but for what only an engine can find out."""

    @property
    def world(self) -> FakeWorld:
        found: FakeWorld = vars(self.invocation)["world"]
        return found

    def query(self, sql: str, begin: Any, pins: Any = None) -> Any:
        pin = Pin("source", len(self.world.source) - 1)
        return _Read(sql, begin, {SOURCE: pin})

    def creation(self, query: Any) -> Planned:
        end = window_end(self.invocation.clock, self.model.config.own.lag, None, {})
        assert end.t is not None
        after = Position(end.t, query.pins, query.canonical)
        row = first_row(self.model, self.standing, after)
        writing = Creation(self.model, row.generation, self.standing.target is not None, STATE)
        new = self.new_rows(row, creates=True)
        return Planned(row, new, writing, STATE, ready=closing(self.session, self.standing, row))

    def appending(self, query: Any, row: StateRow, reshape: bool) -> Planned:
        how = self.standing.circumstances
        new = self.new_rows(row, creates=False)
        writing = Appending(row, COLUMNS)
        late = self.world.late_in(row)
        before = Beforehand(beside=(_Late(self.world, tuple(late)),) if late else ())
        return Planned(row, new, writing, STATE, before, circumstances=how)

    def due_by_time(self, query: Any, last: StateRow) -> datetime | None:
        to_come = (at(ts) for one in self.world.source for _, ts in one)
        return min((instant for instant in to_come if instant > last.after.t), default=None)

    def new_rows(self, row: StateRow, creates: bool) -> NewRows:
        select = self.world.select(row)
        return NewRows(self.model, row.identity, select, COLUMNS, COLUMNS, creates=creates)


class _Kind:
    def plan(self, session: Any, model: Model, invocation: Invocation, refresh: bool) -> Plan:
        standing = stand(session, model, invocation, refresh)
        return _Plans(session, model, invocation, standing).plan()


def run_twice() -> FakeWorld:
    """A model that has run twice, up to 8."""
    made = FakeWorld()
    made.add((1, 0), (2, 1))
    made.run(4)
    made.add((3, 6))
    made.run(8)
    return made


def instead_of_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have runs planned without an engine, and rewinds without relations."""
    monkeypatch.setattr(registry, "kind_of", lambda _: _Kind())
    monkeypatch.setattr(continuous, "refuse_read_otherwise", lambda *_: None)
    monkeypatch.setattr(rewinding, "read_relations", lambda *_: _NO_RELATIONS)
    monkeypatch.setattr(rewinding, "erased_since", lambda *_: "")
    monkeypatch.setattr(rewinding, "next_run", lambda *_: ())


_NO_RELATIONS = SimpleNamespace(arrives=lambda _: None, catalog=None)
