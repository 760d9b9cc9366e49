"""Random lives of a model against its definition, in plain Python.

Rows come in time, late, twice, without ts or from the future; columns are added, the query takes
them up; files are compacted; runs are killed at any point and gone on with by a process that
remembers nothing; and what a run takes for few, or small, is anything. After each run the table
must hold what was ever an answer, each with its first instant.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.spark.run_world import ALL, UNANSWERED, World, literal
from tests.spark.test_commit_once import Killed

from tapestry.runs import crash, holding, narrow, query, run
from tapestry.runs.model import Model
from tapestry.runs.sources import late, side

LIVES = 8
EVENTS = 14
JOINED = "select m.id, r.id as r from {s}.messages m join {s}.messages r on r.parent = m.id"
QUERIES = {
    "all": ALL.replace("m.author", "m.author as a"),
    "unanswered": UNANSWERED.replace("m.author", "m.author as a"),
    "joined": JOINED,
}
SOON = 1e-6
Answer = tuple[Any, ...]


@dataclass
class Row:
    """One copy of a message; ``arrival`` from the run on that first saw it."""

    id: int
    parent: int | None
    ts: float | None
    arrival: float | None = None
    seen: bool = False


@dataclass
class Life:
    """What was done to the source and by the runs."""

    rows: list[Row] = field(default_factory=list)
    tau: float | None = None
    begun: tuple[float, int] | None = None
    columns: int = 0

    def land(self, t: float, count: int) -> None:
        """A run up to t, which saw the first so many rows, has landed."""
        for row in self.rows[:count]:
            if not row.seen:
                row.seen, row.arrival = True, row.ts
                if row.ts is not None and self.tau is not None and row.ts <= self.tau:
                    row.arrival = self.tau + SOON
        self.tau = t

    def ever(self, kind: str) -> Counter[Answer]:
        """All that was an answer up to τ, with its first instant."""
        there = [row for row in self.rows if row.seen and row.arrival is not None]
        found: list[Answer] = []
        for m in there:
            replies = [r for r in there if r.parent == m.id]
            at, due = _some(m.arrival), max(_some(m.arrival), _some(m.ts) + 10)
            if kind == "all":
                found.append((m.id, at))
            elif kind == "joined":
                found += [(m.id, r.id, max(at, _some(r.arrival))) for r in replies]
            elif not any(_some(r.arrival) <= due for r in replies):
                found.append((m.id, due))
        assert self.tau is not None
        return Counter((*ids, round(s, 6)) for *ids, s in found if s <= self.tau)


def _some(instant: float | None) -> float:
    assert instant is not None
    return instant


@pytest.mark.parametrize("seed", range(LIVES))
def test_a_life(session: Any, schema: str, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    rng = random.Random(seed)
    kind = sorted(QUERIES)[seed % len(QUERIES)]
    if seed % 4:
        _nothing_is_small(monkeypatch)
    verify = rng.choice(["off", "off", "sample", "full"])
    world, life, now = World(session, schema), Life(), 0.0
    session.run(
        f"create table {schema}.messages (id int, author string, parent int, ts timestamp)"
        " using delta"
    )
    _add(world, life, rng, now)
    told = [f"seed {seed}: {kind}, verify {verify}"]
    for _ in range(EVENTS):
        now += rng.choice([0.5, 3.0, 8.0])
        event = rng.choice([*["add"] * 4, *["run"] * 3, *["kill"] * 2, "widen", "compact"])
        told.append(f"{now}: {event}")
        if event == "add":
            _add(world, life, rng, now)
        elif event == "compact":
            session.run(f"optimize {schema}.messages")
        elif event == "widen":
            life.columns += 1
            session.run(f"alter table {schema}.messages add columns (c{life.columns} int)")
        else:
            takes = rng.randint(0, life.columns)
            model = _model(world, kind, takes, verify)
            died = rng.choice(crash.POINTS) if event == "kill" else None
            told[-1] += f" {died} with {takes} columns"
            _run(world, life, model, now, died, monkeypatch)
            if life.tau is not None and life.begun is None:
                columns = "id, r" if kind == "joined" else "id"
                answers = Counter(world.answers(columns=columns))
                assert answers == life.ever(kind), "\n".join(told)


def _nothing_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every table is one that Spark knows too little of, and is read more than once."""
    for module in (holding, query):
        monkeypatch.setattr(module, "SMALL", -1)
    for module in (late, side):
        monkeypatch.setattr(module, "FEW", 0)
    monkeypatch.setattr(holding, "SMALL_ALONE", -1)
    monkeypatch.setattr(narrow, "SPARK_KNOWS", -1)


def _model(world: World, kind: str, takes: int, verify: str) -> Model:
    added = "".join(f", m.c{k} as c{k}" for k in range(1, takes + 1))
    return world.model(
        QUERIES[kind].replace(" from", f"{added} from", 1),
        verify=verify,
        on_query_change="continue",
        on_schema_change="append_new_columns",
    )


def _add(world: World, life: Life, rng: random.Random, now: float) -> None:
    """One commit of some messages, some of them again."""
    new = []
    for _ in range(rng.randint(2, 4)):
        late_by = rng.choice([0.0, 0.0, 0.5, 3.0, 12.0, 12.0])
        ts = rng.choice([None, now + 4, *[max(0.0, now - late_by)] * 6])
        new.append(Row(rng.randint(1, 4), rng.choice([None, 1, 2, 3, 4]), ts))
    if rng.random() < 0.3:
        new += [Row(r.id, r.parent, r.ts) for r in rng.sample(life.rows, min(1, len(life.rows)))]
    life.rows += new
    values = ", ".join(
        f"({r.id}, 'a', {'null' if r.parent is None else r.parent},"
        f" {'null' if r.ts is None else literal(r.ts)}{', 7' * life.columns})"
        for r in new
    )
    world.session.run(f"insert into {world.schema}.messages values {values}")


def _run(
    world: World,
    life: Life,
    model: Model,
    now: float,
    died: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A run to now, or until it dies at a point; then the next process remembers nothing."""
    landed, seen = [], len(life.rows)

    def point(here: str) -> None:
        if here == "claimed" and life.begun is None and life.tau is not None:
            life.begun = (now, seen)  # of a first run nothing is known before it has landed
        elif here == "committed":
            t, count = life.begun or (now, seen)
            life.begun = None
            life.land(t, count)
            landed.append(t)
        if here == died and (here != "committed" or landed[-1] == now):
            raise Killed(here)

    monkeypatch.setattr(run, "point", point)
    try:
        world.run(model, now)
    except Killed:
        world.memory = type(world.memory)()
