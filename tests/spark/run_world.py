"""A small world for runs: one source, instants as seconds, models run by layer 2 alone."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from tapestry.names import MATCHED_AT
from tapestry.runs.context.clock import Clock
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.context.recall import Recall
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.continuous.verify import AnswersVerified
from tapestry.runs.kinds.continuous.window.question import Question
from tapestry.runs.kinds.registry import execute, parse_config, prepare
from tapestry.runs.memories.keep import keep_memories
from tapestry.runs.model.model import Model
from tapestry.runs.protocol.outcome import Outcome
from tapestry.runs.protocol.plan import Decided, Planned

BEGIN = datetime(2026, 1, 1, tzinfo=timezone.utc)
OLD = "select m.id, m.author from {s}.messages m where now() >= m.ts + interval 10 seconds"
UNANSWERED = OLD + " and not exists (select 1 from {s}.messages r where r.parent = m.id)"
ALL = "select m.id, m.author from {s}.messages m"


def at(seconds: float) -> datetime:
    """The instant so many seconds after the beginning."""
    return BEGIN + timedelta(seconds=seconds)


def writes(planned: Decided) -> Planned:
    """What was planned, which is to write rows."""
    assert isinstance(planned, Planned), planned
    return planned


def question_of(planned: Planned) -> Question:
    """What the new answers of a run are verified with."""
    assert isinstance(planned.proof.verification, AnswersVerified)
    return planned.proof.verification.question


def literal(seconds: float) -> str:
    """The same as SQL."""
    return f"timestamp'{at(seconds):%Y-%m-%d %H:%M:%S.%f}'"


def delete_folder(session: Session, table: str) -> None:
    """Delete a table's files behind the catalog's back."""
    ((_, _, _, _, location, *_),) = session.rows(f"describe detail {table}")
    shutil.rmtree(location.removeprefix("file:"))


def forget(session: Session, table: str) -> None:
    """Take a table out of the catalog and leave its files where they are."""
    ((_, _, _, _, location, *_),) = session.rows(f"describe detail {table}")
    folder = Path(location.removeprefix("file:"))
    away = folder.with_name(f"{folder.name}_away")
    folder.rename(away)
    session.run(f"drop table {table}")
    away.rename(folder)


def make_old(world: World, table: str, days: float = 8) -> None:
    """Make all commits of a table as old as that, one after the other."""
    detail = world.session.rows(f"describe detail {world.schema}.{table}")
    log = Path(detail[0][4].removeprefix("file:")) / "_delta_log"
    for place, file in enumerate(sorted(log.glob("*.json"))):
        made = time.time() - days * 86_400 + place
        os.utime(file, (made, made))
    # Another process, days later, has not seen the files before.
    spark: Any = world.session.spark  # type: ignore[attr-defined]
    spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()


def run_alone(
    session: Session, model: Model, invocation: Invocation, full_refresh: bool = False
) -> Outcome:
    """Run a model in an invocation of its own; the state is recorded, however the run ends."""
    try:
        return execute(session, prepare(session, model, invocation, full_refresh), invocation)
    finally:
        invocation.states.record(session)


@dataclass
class Counting:
    """A session that keeps what it is asked."""

    session: Session
    asked: list[str] = field(default_factory=list)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        self.asked.append(sql)
        return self.session.rows(sql)

    def run(self, sql: str) -> None:
        self.asked.append(sql)
        self.session.run(sql)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.session, name)


@dataclass
class World:
    """One schema with the table ``messages``; every ``invoke`` is an invocation of its own."""

    session: Session
    schema: str
    recall: Recall = field(default_factory=Recall)
    keeps: bool = False
    """Are memories built and brought up to date at the end of an invocation?"""
    invocations: list[Invocation] = field(default_factory=list, repr=False)

    def create(self) -> World:
        """The source, with three messages: two at 0 and 1, an answer to the second at 5."""
        self.session.run(
            f"create table {self.schema}.messages"
            " (id int, author string, parent int, ts timestamp) using delta"
        )
        self.add((1, "a", None, 0), (2, "b", None, 1), (3, "a", 2, 5))
        return self

    def add(self, *rows: tuple[int, str, int | None, float]) -> None:
        """Append messages in one commit; the last item is ts in seconds."""
        values = ", ".join(
            f"({i}, '{author}', {'null' if parent is None else parent}, {literal(ts)})"
            for i, author, parent, ts in rows
        )
        self.session.run(f"insert into {self.schema}.messages values {values}")

    def add_row(self, values: str) -> None:
        """Append one message, given as SQL: of a table that has got other columns."""
        self.session.run(f"insert into {self.schema}.messages values {values}")

    def model(self, sql: str, name: str = "target", **config: Any) -> Model:
        """A model over the source."""
        return Model(
            name=name,
            relation=f"{self.schema}.{name}",
            sql=sql.format(s=self.schema),
            config=parse_config("continuous", {"verify": "off", **config}),
            arrivals={f"{self.schema}.messages": ("ts",)},
            file=f"models/{name}.sql",
        )

    def invocation(self, seconds: float, given: bool = True) -> Invocation:
        """An invocation whose t is so many seconds after the beginning."""
        self.invocations.append(self.invoked(Clock(at(seconds), given)))
        return self.invocations[-1]

    def invoked(self, clock: Clock) -> Invocation:
        """An invocation at any time."""
        return Invocation("test", clock, f"{self.schema}.tapestry_state", "UTC", self.recall)

    def release(self) -> None:
        """Drop what its invocations have left in memory: those that only planned, too."""
        for invocation in self.invocations:
            invocation.shared.release(self.session)

    def plan(self, model: Model, seconds: float, full_refresh: bool = False) -> Decided:
        """What an invocation at t would do."""
        return prepare(self.session, model, self.invocation(seconds), full_refresh)

    def plan_rows(self, model: Model, seconds: float) -> Planned:
        """What an invocation at t would do, which has something to write."""
        return writes(self.plan(model, seconds))

    def run(
        self,
        model: Model,
        seconds: float,
        full_refresh: bool = False,
        given: bool = True,
    ) -> Outcome:
        """One invocation with this model only."""
        invocation = self.invocation(seconds, given)
        try:
            outcome = run_alone(self.session, model, invocation, full_refresh)
            if self.keeps:
                keep_memories(self.session, invocation.asked.requests, "test")
            return outcome
        finally:
            invocation.shared.release(self.session)

    def answers(
        self, name: str = "target", columns: str = "id", order: bool = True
    ) -> list[tuple[Any, ...]]:
        """What stands in a target: the columns and ``_matched_at`` in seconds, in order if asked.

        NULLs have no order.
        """
        rows = self.session.rows(
            f"select {columns}, (unix_micros({MATCHED_AT}) - unix_micros({literal(0)})) / 1e6"
            f" from {self.schema}.{name}"
        )
        answers = [(*row[:-1], float(row[-1])) for row in rows]
        return sorted(answers) if order else answers

    def states(self, columns: str = "n") -> list[tuple[Any, ...]]:
        """The rows of the state table."""
        return sorted(self.session.rows(f"select {columns} from {self.schema}.tapestry_state"))

    def versions(self, name: str = "target") -> int:
        """How many commits a table has."""
        return len(self.session.rows(f"describe history {self.schema}.{name}"))


def ids(answers: Iterable[tuple[Any, ...]]) -> list[Any]:
    """Only the first column."""
    return [row[0] for row in answers]
