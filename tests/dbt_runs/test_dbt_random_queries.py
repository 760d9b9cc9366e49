"""The judge's random queries as models of one project, run by `dbt run` in random windows.

Rows are loaded between the runs, some long after their ts, so that it is the product that finds out
what is late. The judge is told each row's effective arrival by semantics, section 3: its ts, or the
first instant after the run that it missed.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from dbt.tests.util import run_dbt

sys.path.insert(0, str(Path(__file__).parents[1] / "property"))

from judge.case import Case, expected, normalized, random_case
from judge.data import MICRO, STEP, Data, random_data
from judge.oracle import connect, written
from judge.render import spark_text
from judge.schema import ARRIVAL, BASE, SPARK_TYPES, TABLES
from judge.tree import Relation
from judge.verdict import CATALOG
from tests.seeds import seed

from tapestry.errors import Refusal
from tapestry.sql import rewrite

SEED = seed()
MODELS, RUNS = 24, 3
LONGEST = 300  # characters: Spark plans the others too slowly for this many
SOURCES = [
    {"name": t, "config": {"loaded_at_field": at} if at else {"meta": {"arrival": "static"}}}
    for t, at in ARRIVAL.items()
]


@dataclass(frozen=True)
class World:
    """Rows, the run before which each is loaded, and the ends of the runs' windows."""

    data: Data
    loaded: dict[tuple[str, int], int]
    ends: tuple[datetime, ...]

    def batch(self, run: int) -> Iterator[tuple[str, list[Any]]]:
        """The rows that each table gets before a run, without what only the judge knows."""
        for table, rows in self.data.rows.items():
            yield table, [row[:-2] for row in rows if self.loaded[table, row[-1]] == run]

    def arrived(self) -> Data:
        """The rows with their effective arrivals."""
        found = {}
        for table, rows in self.data.rows.items():
            found[table] = tuple((*row[:-2], self._arrival(table, row), row[-1]) for row in rows)
        return replace(self.data, rows=found)

    def in_time(self) -> Data:
        """The rows as a full refresh sees them: each arrived at its ts."""
        return replace(self, loaded=dict.fromkeys(self.loaded, 0)).arrived()

    def _arrival(self, table: str, row: tuple[Any, ...]) -> datetime | None:
        column = ARRIVAL[table]
        if column is None:
            return None
        ts: datetime | None = row[list(TABLES[table]).index(column)]
        run = self.loaded[table, row[-1]]
        missed = self.ends[run - 1] if run else None
        return ts if ts is None or missed is None or ts > missed else missed + MICRO


def _world(rng: random.Random) -> World:
    """Every grown table gets a row before each run, so that none finds nothing new."""
    data = random_data(rng)
    while data.off_grid or any(len(data.rows[t]) < RUNS + 1 for t, at in ARRIVAL.items() if at):
        data = random_data(rng)
    loaded = {}
    for table, rows in data.rows.items():
        runs = [*range(RUNS), *(rng.randrange(RUNS) for _ in rows)][: len(rows)]
        rng.shuffle(runs)
        for row, run in zip(rows, runs, strict=True):
            loaded[table, row[-1]] = run if ARRIVAL[table] else 0
    ends = sorted(rng.sample(range(2, 14), RUNS - 1))
    return World(data, loaded, tuple(BASE + STEP * n for n in (*ends, 34)))


def _cases(first: int) -> dict[str, Case]:
    found: dict[str, Case] = {}
    number = first
    while len(found) < MODELS:
        case = random_case(number)
        number += 1
        if len(case.sql) > LONGEST:
            continue
        try:
            rewrite(case.sql, CATALOG)
        except Refusal:
            continue
        found[f"q{case.number}"] = case
    return found


def _sourced(node: Any) -> Any:
    """The query with its tables as dbt's sources."""
    if isinstance(node, Relation) and node.table:
        return replace(node, table=f"{{{{ source('judge', '{node.table}') }}}}")
    if isinstance(node, tuple):
        return tuple(map(_sourced, node))
    if is_dataclass(node) and not isinstance(node, type):
        changed = {one.name: _sourced(getattr(node, one.name)) for one in fields(node)}
        return replace(node, **changed)
    return node


WORLD = _world(random.Random(SEED))
CASES = _cases(SEED)


class TestRandomQueries:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, Any]:
        sources = {"name": "judge", "schema": "{{ target.schema }}", "tables": SOURCES}
        config = "{{ config(materialized='continuous', late_after='99999 days') }}"
        texts = {
            f"{name}.sql": f"{config}\n{spark_text(_sourced(case.query))}"
            for name, case in CASES.items()
        }
        return {"schema.yml": {"version": 2, "sources": [sources]}, **texts}

    def test_dbt_runs_deliver_what_was_ever_an_answer(
        self, project: Any, as_of: Callable[[str], None]
    ) -> None:
        for number, (table, columns) in enumerate(TABLES.items()):
            listed = ", ".join(f"{name} {SPARK_TYPES[type_]}" for name, type_ in columns.items())
            tracked = str(number % 2 == 0).lower()
            project.run_sql(
                f"create table {project.test_schema}.{table} ({listed}) using delta"
                f" tblproperties ('delta.enableRowTracking' = '{tracked}')"
            )
        for run, end in enumerate(WORLD.ends):
            for table, rows in WORLD.batch(run):
                if rows:
                    values = ", ".join(f"({', '.join(map(written, row))})" for row in rows)
                    project.run_sql(f"insert into {project.test_schema}.{table} values {values}")
            as_of(f"{end:%Y-%m-%d %H:%M:%S.%f}")
            run_dbt(["run"])
        self.compare(project, WORLD.arrived())
        run_dbt(["run", "--full-refresh"])
        self.compare(project, WORLD.in_time())

    def compare(self, project: Any, data: Data) -> None:
        """Every table is what the definition says of these rows."""
        connection, wrong, answers = connect(), [], 0
        for name, case in CASES.items():
            right = expected(Case(case.query, data, WORLD.ends), connection)
            columns = ", ".join((*case.names, "_matched_at"))
            rows = project.run_sql(f"select {columns} from {{schema}}.{name}", fetch="all")
            got = normalized(rows)
            answers += got.total()
            if got != right:
                wrong.append(f"{name}: missing {right - got}, too many {got - right}\n{case.sql}")
        assert not wrong, "\n\n".join(wrong)
        assert answers
