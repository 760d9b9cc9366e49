"""Random lives of two models: one over commits, the other over a column that says the same.

Rows are committed before and after the instants that runs end at, deleted, compacted; the log is
cleaned up, old files go; runs are killed at any point and gone on with by a process that remembers
nothing; models are rewound and built anew. After each run that both end, both tables are the same.
"""

from __future__ import annotations

import random
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from tests.killed import Killed
from tests.marks import more
from tests.seeds import seeds
from tests.spark.commit_world import Twins

from tapestry.runs.context.recall import Recall
from tapestry.runs.kinds.continuous.after.plan_rewind import plan_rewind
from tapestry.runs.kinds.continuous.after.rewind import rewind
from tapestry.runs.protocol import crash

M, R = "select m.id", "from {m} r where r.parent = m.id"
QUERIES = (
    f"{M}, m.parent from {{m}} m where not exists (select 1 {R})",
    f"{M}, m.parent from {{m}} m where exists (select 1 {R})",
    f"{M}, r.id as r from {{m}} m join {{m}} r on r.parent = m.id",
    f"{M}, r.id as r from {{m}} m left join {{m}} r on r.parent = m.id",
    "select distinct m.parent as id from {m} m",
    "select m.id from {m} m except select m.parent from {m} m",
)
EVENTS = ["add"] * 5 + ["run"] * 4 + ["kill"] * 2 + ["compact", "clean", "vacuum", "delete"]
WILD = [*EVENTS, "rewind", "refresh", "delete"]
LIVES, STEPS = 8, 14
TABLES = ("messages", "stamped")


@pytest.mark.parametrize("seed", [more(seed) for seed in seeds(LIVES)])
def test_a_life(session: Any, schema: str, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    rng = random.Random(seed)
    life = _Life(Twins(session, schema).create(), rng, monkeypatch)
    life.add()
    life.run()
    for _ in range(STEPS):
        event = rng.choice(rng.choice([EVENTS, WILD]))
        life.told.append(event)
        getattr(life, event)()
    life.run()


class _Life:
    """Both models and their sources; every step is ``told``, for the day on which it fails."""

    def __init__(self, twins: Twins, rng: random.Random, monkeypatch: pytest.MonkeyPatch) -> None:
        self.twins, self.rng, self.monkeypatch = twins, rng, monkeypatch
        self.query = rng.choice(QUERIES)
        self.verify = rng.choice(["off", "sample", "full"])
        self.t: datetime | None = None
        self.ends: list[datetime] = []
        self.read = 0
        self.told = [f"{self.query}, verify {self.verify}"]

    def model(self, table: str) -> Any:
        return self.twins.model(
            self.query, table, verify=self.verify, on_source_rewrite="deletes_ok"
        )

    def instant(self) -> datetime:
        """Where a run ends: at the newest commit, before or after it, never before the last."""
        newest = self.twins.newest_commit()
        moved = self.rng.choice([0, 0, -1500, -300, 1, 400, 4000])
        t = newest + timedelta(milliseconds=moved)
        return t if self.t is None else max(t, self.t + timedelta(microseconds=1))

    def add(self) -> None:
        pairs = [
            (self.rng.randint(1, 4), self.rng.choice([None, 1, 2, 3, 4]))
            for _ in range(self.rng.randint(1, 3))
        ]
        self.twins.add(pairs)

    def run(self, died: str | None = None, refresh: bool = False) -> None:
        t = self.instant()
        self.told[-1] += f" to {t}"
        self.twins.recall = Recall()

        def point(here: str) -> None:
            if here == died:
                raise Killed(here)

        self.monkeypatch.setattr(crash, "point", point)
        for table in TABLES:
            try:
                self.twins.run(self.model(table), t, full_refresh=refresh)
            except Killed:
                self.twins.recall = Recall()
        self.t = t
        if died is not None:
            self.run(refresh=refresh)
            return
        self.ends = [t] if refresh else [*self.ends, t]
        self.read = self.version()
        self.compare()

    def kill(self) -> None:
        name = self.rng.choice(crash.POINTS)
        self.told[-1] += f" at {name}"
        self.run(died=name)

    def refresh(self) -> None:
        self.run(refresh=True)

    def rewind(self) -> None:
        """Back to an instant between two ends of runs."""
        low, high = int(self.ends[0].timestamp() * 1000), int(self.ends[-1].timestamp() * 1000)
        to = datetime.fromtimestamp(
            self.rng.randint(low + 1, max(high, low + 1)) / 1000, timezone.utc
        )
        if to >= self.ends[-1] or to <= self.ends[0]:
            return
        self.told[-1] += f" to {to}"
        self.twins.recall = Recall()
        planned_none: list[str] = []
        for table in TABLES:
            invocation = self.twins.invocation(self.ends[-1] + timedelta(minutes=1))
            planned = plan_rewind(self.twins.session, self.model(table), invocation, to)
            if planned is None:  # the runs after that instant found nothing
                planned_none.append(table)
                continue
            rewind(self.twins.session, planned, invocation)
        assert planned_none in ([], list(TABLES)), self.told
        self.ends = [*(end for end in self.ends if end < to), to]
        self.t = to
        self.compare()

    def compact(self) -> None:
        """Of both: a run that reads a new version moves on, whether it finds anything or not."""
        for table in TABLES:
            self.twins.sql(f"optimize {{s}}.{table}")

    def clean(self) -> None:
        """What no run needs of the log: that of versions that the first run has read."""
        self.told[-1] += f" {self.twins.forget_log(before=self.read)} commits"

    def vacuum(self) -> None:
        """Files that the newest version does not have; a rewind would want those of older ones."""
        self.run()
        self.ends = self.ends[-1:]
        self.twins.sql("set spark.databricks.delta.retentionDurationCheck.enabled = false")
        for table in TABLES:
            self.twins.sql(f"vacuum {{s}}.{table} retain 0 hours")

    def delete(self) -> None:
        number = self.rng.randint(1, 4)
        self.told[-1] += f" {number}"
        for table in TABLES:
            self.twins.sql(f"delete from {{s}}.{table} where id = {number}")

    def version(self) -> int:
        ((version, *_),) = self.twins.sql("describe history {s}.messages limit 1")
        return int(version)

    def compare(self) -> None:
        ours, theirs = (self.twins.answers(f"of_{table}") for table in TABLES)
        assert ours == theirs, "\n".join(
            [*self.told, f"only ours {ours - theirs}", f"only theirs {theirs - ours}"]
        )
