"""A batch of a microbatch model takes the place of the rows of its time, and of no others."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.util import run_dbt_and_capture

LAID_OUT = {
    "plain": "",
    "by_month": ", partition_by='month'",
    "by_day": ", partition_by='day'",
    "liquid": ", liquid_clustered_by='id'",
}
CONFIG = (
    "{{{{ config(materialized='incremental', incremental_strategy='microbatch', "
    " event_time='{time}', batch_size='day', begin='2026-01-30'{more}) }}}}\n"
)
QUERY = (
    "select id, at, cast(at as date) day, date_format(at, 'yyyy-MM') month"
    " from {{ source('given', 'rows') }}"
)
TABLES = "tables: [{name: rows, config: {event_time: at}}, {name: timeless}]"
SOURCES = f'sources: [{{name: given, schema: "{{{{ target.schema }}}}", {TABLES}}}]'
ROWS = [
    (1, "2026-01-30 23:59:59.999999"),
    (2, "2026-01-31 00:00:00"),
    (2, "2026-01-31 00:00:00"),
    (None, "2026-01-31 12:00:00"),
    (4, "2026-02-01 00:00:00"),
    (5, None),
]


def _models() -> dict[str, str]:
    found = {
        f"{name}.sql": CONFIG.format(time="at", more=more) + QUERY
        for name, more in LAID_OUT.items()
    }
    found["dated.sql"] = CONFIG.format(time="day", more="") + QUERY
    found["late.sql"] = CONFIG.format(time="at", more="") + QUERY.replace("rows", "timeless")
    return {**found, "sources.yml": SOURCES}


class TestBatches:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return _models()

    def run(self, first: str, last: str, name: str = "", ok: bool = True) -> str:
        times = ["--event-time-start", first, "--event-time-end", last]
        names = ["--select", name] if name else ["--exclude", "late"]
        _, said = run_dbt_and_capture(["run", *names, *times], expect_pass=ok)
        return said

    def load(self, project: Any, rows: list[tuple[Any, str | None]], name: str = "rows") -> None:
        values = ", ".join(
            f"({'null' if id_ is None else id_}, {'null' if at is None else f'timestamp{at!r}'})"
            for id_, at in rows
        )
        project.run_sql(
            f"create or replace table {{schema}}.{name} using delta as select * from values"
            f" {values} as t(id, at)"
        )

    def rows(self, project: Any, name: str) -> list[tuple[Any, str]]:
        found = project.run_sql(
            f"select id, cast(at as string) from {{schema}}.{name}", fetch="all"
        )
        return sorted((tuple(row) for row in found), key=repr)

    def check(self, project: Any, rows: list[tuple[Any, str | None]]) -> None:
        wanted = sorted((row for row in rows if row[1]), key=repr)
        for name in (*LAID_OUT, "dated"):
            assert self.rows(project, name) == wanted, name

    def test_a_batch_takes_the_place_of_its_rows(self, project: Any, embedded_spark: Any) -> None:
        self.load(project, ROWS)
        self.run("2026-01-30", "2026-02-02")
        self.check(project, ROWS)
        # one day of a month anew: a row came late, one changed, one is gone, others changed beside
        anew = [(7, "2026-01-31 05:00:00"), (None, "2026-01-31 13:00:00")]
        self.load(project, [(9, "2026-01-30 01:00:00"), *anew, (9, "2026-02-01 01:00:00")])
        self.run("2026-01-31", "2026-02-01")
        kept = [ROWS[0], ROWS[4]]
        self.check(project, [*kept, *anew])
        # no row of the day is left
        self.load(project, [(9, "2026-01-30 01:00:00"), (9, None)])
        self.run("2026-01-31", "2026-02-01")
        self.check(project, kept)
        found = embedded_spark.sql(f"describe detail {project.test_schema}.liquid").first()
        assert list(found["clusteringColumns"]) == ["id"]

    def test_rows_of_another_time_are_refused(self, project: Any) -> None:
        self.load(project, ROWS[:1], "timeless")
        self.run("2026-01-30", "2026-01-31", "late")
        for rows in ([(2, "2026-02-01 00:00:00"), ROWS[1]], [ROWS[1], ROWS[5]]):
            self.load(project, rows, "timeless")
            said = self.run("2026-01-31", "2026-02-01", "late", ok=False)
            assert "event_time is not within the batch, or NULL" in said
            assert self.rows(project, "late") == ROWS[:1]
