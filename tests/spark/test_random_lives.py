"""Random lives of a model against its definition, in plain Python (``tests.spark.lives``).

Rows come in time, late, twice, without ts or from the future, and are deleted; columns are added,
the query takes them up; files are compacted; answers are deleted from the table; the model is built
anew, or rewound; runs are killed at any point and gone on with by a process that remembers nothing;
and what a run takes for few, or small, is anything. After each run the table must hold what was
ever an answer, each with its first instant.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from tests.killed import Killed
from tests.marks import more
from tests.seeds import seeds
from tests.spark.lives import KINDS, SECOND, Answer, Content, Life
from tests.spark.run_world import World, at, literal

from tapestry.runs.kinds.continuous import query
from tapestry.runs.kinds.continuous.after.plan_rewind import plan_rewind
from tapestry.runs.kinds.continuous.after.rewind import rewind
from tapestry.runs.kinds.continuous.late import late, side
from tapestry.runs.kinds.continuous.window import measured_first
from tapestry.runs.memories import write
from tapestry.runs.model.model import Model
from tapestry.runs.protocol import crash
from tapestry.runs.query import holding

pytestmark = pytest.mark.gate

LIVES, IN_THE_GATE = 12, 2
EVENTS, IN_A_SHORT_LIFE = 14, 7
TAME = [*["add"] * 4, *["run"] * 3, *["kill"] * 2, "widen", "compact"]
WILD = [*TAME, "delete", "delete", "add", "run", "erase", "refresh", "rewind"]


@pytest.mark.parametrize(
    ("seed", "events"),
    [
        *((seed, IN_A_SHORT_LIFE) for seed in seeds(IN_THE_GATE)),
        *(more(seed, EVENTS) for seed in seeds(LIVES)),
    ],
)
def test_a_life(
    session: Any, schema: str, monkeypatch: pytest.MonkeyPatch, seed: int, events: int
) -> None:
    rng = random.Random(seed)
    kind = sorted(KINDS)[seed % len(KINDS)]
    if seed % 4:
        _nothing_is_small(monkeypatch)
    verify = rng.choice(["off", "off", "sample", "full"])
    kinds = rng.choice([TAME, WILD, WILD])
    life = _Lived(World(session, schema), kind, verify, rng, monkeypatch)
    life.told.append(f"seed {seed}: {kind}, verify {verify}, memories {life.memories}")
    for _ in range(events):
        life.now += rng.choice([SECOND // 2, 3 * SECOND, 8 * SECOND])
        life.live(rng.choice(kinds))


def _nothing_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every table is one that Spark knows too little of, and is read more than once."""
    for module in (holding, query):
        monkeypatch.setattr(module, "SMALL", -1)
    for module in (late, side):
        monkeypatch.setattr(module, "FEW", 0)
    monkeypatch.setattr(holding, "SMALL_ALONE", -1)
    monkeypatch.setattr(measured_first, "SPARK_KNOWS", -1)


class _Lived:
    """A life that is led on Spark; every step is ``told``, for the day on which it fails."""

    def __init__(
        self,
        world: World,
        kind: str,
        verify: str,
        rng: random.Random,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        self.world, self.verify, self.rng = world, verify, rng
        self.monkeypatch, self.life = monkeypatch, Life(KINDS[kind])
        self.now, self.told = 0, list[str]()
        aliases = KINDS[kind].aliases
        some: list[list[Any]] = [[*aliases], [*aliases[:1]], [*aliases[-1:]], []]
        if kind in ("joined", "chosen"):
            some += [[[*aliases]]] * 3
        self.memories = rng.choice(some)
        world.keeps = bool(self.memories)
        monkeypatch.setattr(write, "FLUSH_COMMITS", rng.choice([1, 2, 20]))
        self.closed = False  # a refresh died after it closed the table's generation
        world.session.run(
            f"create table {world.schema}.messages (id int, parent int, ts timestamp) using delta"
        )
        self.add()

    def live(self, event: str) -> None:
        """One event; what cannot be yet is left out."""
        self.told.append(f"{self.now / SECOND}: {event}")
        ran = self.life.last is not None
        if event in ("run", "kill"):
            self.run(rng_point(self.rng) if event == "kill" else None)
        elif event == "refresh":
            self.run(self.rng.choice([None, rng_point(self.rng)]), refresh=True)
        elif event == "erase" and ran:
            self.erase()
        elif event == "rewind" and ran and not self.closed:
            self.rewind()
        elif event in ("add", "compact", "widen", "delete"):
            getattr(self, event)()

    def add(self) -> None:
        """One commit of some messages, some of them again."""
        rng, life = self.rng, self.life
        new = []
        for _ in range(rng.randint(2, 4)):
            late_by = rng.choice([0, 0, 0.5, 3, 12, 12])
            in_time = max(0, self.now - int(late_by * SECOND))
            ts = rng.choice([None, self.now + 4 * SECOND, *[in_time] * 6])
            new.append(Content(rng.randint(1, 4), rng.choice([None, 1, 2, 3, 4]), ts, life.columns))
        for one in rng.sample(life.source, min(1, len(life.source))):
            if rng.random() < 0.4 and one.columns == life.columns:
                new.append(one)
        life.source += new
        values = ", ".join(
            f"({m.id}, {'null' if m.parent is None else m.parent},"
            f" {'null' if m.ts is None else literal(m.ts / SECOND)}{', 7' * life.columns})"
            for m in new
        )
        self.sql(f"insert into {{s}}.messages values {values}")

    def compact(self) -> None:
        """What stands in the files stays what it is."""
        self.sql("optimize {s}.messages")

    def widen(self) -> None:
        """A column more, NULL in the rows that are there."""
        self.life.columns += 1
        self.sql(f"alter table {{s}}.messages add columns (c{self.life.columns} int)")

    def delete(self) -> None:
        """Some messages are gone."""
        number, life = self.rng.randint(1, 4), self.life
        life.source = [m for m in life.source if m.id != number]
        self.sql(f"delete from {{s}}.messages where id = {number}")

    def erase(self) -> None:
        """Some answers are deleted from the table."""
        number = self.rng.randint(1, 4)
        self.sql(f"delete from {{s}}.target where id = {number}")
        self.life.erase(number)

    def rewind(self) -> None:
        """Back to an instant that a run has reached."""
        assert self.life.last is not None
        oldest, newest = self.life.landings[0].t, self.life.last.t
        to = self.rng.randint(oldest, newest)
        self.told[-1] += f" to {to / SECOND}"
        self.world.recall = type(self.world.recall)()
        invocation = self.world.invocation(self.now / SECOND)
        session, model = self.world.session, self.model(self.life.last.takes)
        planned = plan_rewind(session, model, invocation, at(to / SECOND))
        if to < newest:
            assert planned is not None
            rewind(session, planned, invocation)
            self.life.rewind(to)
            self.compare()

    def run(self, died: str | None, refresh: bool = False) -> None:
        """A run to now, or until it dies at a point; the next process remembers nothing."""
        life, now, source = self.life, self.now, list(self.life.source)
        takes = self.rng.randint(0, life.columns) if life.kind.grows else 0
        refresh, landed = refresh or self.closed, []

        def point(here: str) -> None:
            # Nothing is known of a first run before it has landed.
            claims = life.begun is None and life.last is not None and not refresh
            if here == "claimed" and claims:
                life.begun = (now, source, takes)
            elif here == "ready":
                self.closed = refresh and life.last is not None
            elif here == "committed":
                self.closed = False
                if refresh:
                    life.first(now, source, takes)
                else:
                    life.land(*(life.begun or (now, source, takes)))
                assert life.last is not None
                landed.append(life.last.t)
            if here == died and (here != "committed" or landed[-1] == now):
                raise Killed(here)

        self.told[-1] += f" {died} with {takes} columns"
        self.monkeypatch.setattr(crash, "point", point)
        try:
            self.world.run(
                self.model(takes), now / SECOND, full_refresh=refresh and not self.closed
            )
        except Killed:
            self.world.recall = type(self.world.recall)()
        if life.begun is None and life.last is not None:
            self.compare()

    def model(self, takes: int) -> Model:
        """The model, its query with some of the columns that came."""
        added = "".join(f", m.c{k} as c{k}" for k in range(1, takes + 1))
        return self.world.model(
            self.life.kind.sql.replace(" from", f"{added} from", 1),
            verify=self.verify,
            on_query_change="continue",
            on_schema_change="append_new_columns",
            on_source_rewrite="deletes_ok",
            on_target_change="accept",
            **({"memories": self.memories} if self.memories else {}),
        )

    def compare(self) -> None:
        """The table against the definition."""
        assert self.life.last is not None
        found = self.world.answers(columns=self.life.kind.columns, order=False)
        answers: Counter[Answer] = Counter((*v, round(s * SECOND)) for *v, s in found)
        wanted = self.life.last.published
        told = "\n".join(self.told)
        assert answers == wanted, f"{told}\nmissing {wanted - answers}, wrong {answers - wanted}"

    def sql(self, text: str) -> None:
        """Done by somebody else."""
        self.world.session.run(text.format(s=self.world.schema))


def rng_point(rng: random.Random) -> str:
    """Somewhere in a run."""
    return rng.choice(crash.POINTS)
