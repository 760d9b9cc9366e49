"""Random histories of a source against the definition of effective arrival, in plain Python.

The definition: of each content there are so many copies, each with an arrival. At the first run
it is ts. Copies that turn up later arrive at ts, or, with ts <= τ, at the first instant after τ;
copies that vanish end then, the last arrivals first. The scan must give this bag after each run,
with the copies that have ended where the query looks back, however the source came to its rows, and
whatever crashed in between.
"""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.seeds import seeds
from tests.spark.run_world import ALL
from tests.spark.run_world import World as RunWorld
from tests.spark.source_world import World, late, minutes_of, row

from tapestry.errors import SourceRewritten
from tapestry.quoting import token
from tapestry.runs.kinds.continuous.config import ContinuousConfig

HISTORIES = 60
Content = tuple[int | None, float | None, str | None]
NEVER = 253_402_214_400_000_000
"""9999-12-31 in microseconds since the epoch: the end of a copy that is there."""
DELETES_OK = ContinuousConfig(on_source_rewrite="deletes_ok")
TRACKING = "'delta.enableRowTracking' = 'true'"
VECTORS = "'delta.enableDeletionVectors' = 'true'"
PROPERTIES = ("", "", TRACKING, VECTORS, f"{TRACKING}, {VECTORS}")


class Definition:
    """What each copy of each content arrives at."""

    def __init__(self) -> None:
        self.copies: dict[Content, list[float | None]] = {}
        self.ended = Counter[tuple[Any, ...]]()
        self.tau: float | None = None

    def run(self, rows: list[Content], minutes: float) -> int:
        """Take in the rows that a run sees; how many copies vanished."""
        counts, vanished = Counter(rows), 0
        for content in {*counts, *self.copies}:
            known = self.copies.setdefault(content, [])
            vanished += max(0, len(known) - counts[content])
            known.sort(key=lambda arrival: arrival or 0)
            for arrival in known[counts[content] :]:
                if arrival is not None and self.tau is not None and arrival <= self.tau:
                    self.ended[(*content, arrival, late(self.tau))] += 1
            del known[counts[content] :]
            ts = content[1]
            arrives = ts
            if ts is not None and self.tau is not None and ts <= self.tau:
                arrives = late(self.tau)
            known += [arrives] * (counts[content] - len(known))
        self.tau = minutes
        return vanished

    def bag(self) -> Counter[tuple[Any, ...]]:
        """(content, arrival) as a bag."""
        return Counter((*c, arrival) for c, known in self.copies.items() for arrival in known)


class History:
    """One random source: what is done to the table is done to a list of rows as well."""

    def __init__(self, session: Any, schema: str, seed: int) -> None:
        self.random, self.looks_back = random.Random(seed), seed % 2 == 1
        self.world = World(session, schema)
        self.world.create(properties=PROPERTIES[seed % len(PROPERTIES)])
        self.rows: list[Content] = []
        self.past: dict[int, list[Content]] = {0: []}
        self.definition = Definition()
        self.now = 0.0

    def content(self) -> Content:
        """Few values: NULLs, ties and duplicates abound; some lie on a τ, some in the future."""
        ts = self.random.choice((None, 10.0, 20.0, self.now, self.now - 5, self.now + 5))
        return self.random.choice((None, 1, 2)), ts, self.random.choice((None, "x"))

    def step(self) -> None:
        """Do one thing to the source."""
        ways = (self.append, self.append, self.append, self.delete, self.overwrite)
        self.random.choice((*ways, self.update, self.optimize, self.restore))()

    def append(self) -> None:
        more = [self.content() for _ in range(self.random.randint(1, 4))]
        self.world.insert(*(row(*content) for content in more))
        self.rows += more

    def delete(self) -> None:
        number = self.random.choice((1, 2))
        self.world.sql(f"DELETE FROM {{source}} WHERE id = {number}")
        self.rows = [content for content in self.rows if content[0] != number]

    def update(self) -> None:
        self.world.sql("UPDATE {source} SET body = 'x' WHERE id = 1")
        self.rows = [(i, ts, "x" if i == 1 else body) for i, ts, body in self.rows]

    def overwrite(self) -> None:
        self.rows = [*self.rows, self.content()]
        self.random.shuffle(self.rows)
        if self.random.random() < 0.5:
            self.rows.pop()
        if self.rows:
            values = ", ".join(row(*content) for content in self.rows)
            self.world.sql(f"INSERT OVERWRITE {{source}} VALUES {values}")

    def optimize(self) -> None:
        self.world.sql("OPTIMIZE {source}")

    def restore(self) -> None:
        version = self.random.choice(list(self.past))
        self.world.sql(f"RESTORE TABLE {{source}} TO VERSION AS OF {version}")
        self.rows = list(self.past[version])

    def run(self) -> None:
        """One run; it may crash before its commit and be run again, after more has happened."""
        if self.random.random() < 0.2:
            for statement in self.world.examine(DELETES_OK, looks_back=self.looks_back).before:
                self.world.session.run(statement)
            if self.random.random() < 0.5:
                self.step()
        self.now += self.random.choice((1, 10))
        rules = ContinuousConfig() if self.random.random() < 0.2 else DELETES_OK
        vanished = self.definition.run(self.rows, self.now)
        if vanished and rules.on_source_rewrite == "fail":
            with pytest.raises(SourceRewritten):
                self.world.examine(rules)
            rules = DELETES_OK
        examination = self.world.run(self.now, rules, looks_back=self.looks_back)
        assert self.world.pin is not None
        self.past[self.world.pin.version] = list(self.rows)
        assert examination.rows.vanished == vanished
        assert self.looks_back or not examination.ends
        end = ("unix_micros(_ended)",) * examination.ends
        there, gone = Counter[tuple[Any, ...]](), Counter[tuple[Any, ...]]()
        found = self.world.arrivals(examination, ("id", "unix_micros(ts)", "body", *end))
        for (i, ts, body, *ended, arrival), n in found.items():
            seen = (i, minutes_of(ts), body, arrival)
            if ended and ended[0] < NEVER:
                gone[(*seen, minutes_of(ended[0]))] += n
            else:
                there[seen] += n
        assert there == self.definition.bag()
        assert gone == (self.definition.ended if self.looks_back else Counter())


@pytest.mark.parametrize("seed", seeds(HISTORIES))
def test_the_scan_gives_the_effective_arrivals(session: Any, schema: str, seed: int) -> None:
    history = History(session, schema, seed)
    history.append()
    history.run()
    for _ in range(3):
        for _ in range(history.random.randint(0, 2)):
            history.step()
        history.run()


def test_a_folder_whose_name_looks_like_a_pattern(
    session: Any, schema: str, tmp_path: Path
) -> None:
    """The log is that of this folder, and not of one that the pattern would fit."""
    made = RunWorld(session, schema)
    for table, folder in (("other", "ab{1}"), ("messages", "a*b{%20,c}[d]? \\e ü")):
        session.run(
            f"create table {schema}.{table} (id int, author string, parent int, ts timestamp)"
            f" using delta location {token(str(tmp_path / folder))}"
        )
    model = made.model(ALL)
    made.add((1, "a", None, 0))
    made.run(model, 10)
    made.add((2, "a", None, 12), (3, "late", None, 4))
    made.run(model, 20)
    assert made.answers() == [(1, 0.0), (2, 12.0), (3, 10.000001)]
