"""No command that limits what it reads writes a table that remembers, whatever its kind."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from dbt.tests.util import run_dbt

NOW = datetime.now(timezone.utc).replace(microsecond=0, tzinfo=None)
OLD, NEW = NOW - timedelta(days=2), NOW - timedelta(hours=1)
LIMITS = (["--empty"], ["--sample", "1 day"])
SOURCE = """
sources:
- name: given
  schema: "{{ target.schema }}"
  tables: [{name: rows, config: {event_time: at, loaded_at_field: at}}]
"""
SELECT = "select id, v, at from {{ source('given', 'rows') }}"
HOOK = 'pre_hook="{% if load_relation(this) %}delete from {{ this }}{% endif %}", '
INCREMENTAL = {
    "appended": "incremental_strategy='append'",
    "merged": "incremental_strategy='merge', unique_key='id'",
    "overwritten": "incremental_strategy='insert_overwrite'",
    "by_day": "incremental_strategy='insert_overwrite', partition_by='v'",
    "in_batches": "incremental_strategy='microbatch', event_time='at', batch_size='day',"
    f" begin='{OLD.date()}', lookback=9",  # one table for all batches
}
PYTHON = """
def model(dbt, session):
    dbt.config(materialized="incremental", incremental_strategy="merge", unique_key="id")
    return dbt.source("given", "rows").filter("id is not null")
"""
SNAPSHOTS = {
    "checked": {"strategy": "check", "check_cols": "all", "hard_deletes": "invalidate"},
    "kept": {"strategy": "check", "check_cols": ["v"], "hard_deletes": "new_record"},
    "dated": {"strategy": "timestamp", "updated_at": "at", "hard_deletes": "invalidate"},
}
REMEMBER = (*INCREMENTAL, "by_python", "answered", *SNAPSHOTS)


def _models() -> dict[str, str]:
    found = {
        f"{name}.sql": f"{{{{ config(materialized='incremental', {config}) }}}}\n{SELECT}"
        for name, config in INCREMENTAL.items()
    }
    continuous = "{{ config(materialized='continuous', verify='off') }}\n"
    return {
        **found,
        "copied.sql": "{{ config(materialized='table') }}\n" + SELECT,
        "seen.sql": SELECT,
        "by_python.py": PYTHON,
        "answered.sql": continuous + SELECT,
        "schema.yml": SOURCE,
    }


class Limited:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return _models()

    @pytest.fixture(scope="class")
    def snapshots(self) -> dict[str, str]:
        listed = [
            {
                "name": name,
                "relation": "source('given', 'rows')",
                "config": {"unique_key": "id", **config},
            }
            for name, config in SNAPSHOTS.items()
        ]
        return {"snapshots.yml": str({"snapshots": listed})}

    @pytest.fixture(scope="class")
    def seeds(self) -> dict[str, str]:
        return {"listed.csv": "a\n1\n2\n"}

    def load(self, project: Any, spark: Any, rows: list[tuple[Any, ...]], mode: str) -> None:
        frame = spark.createDataFrame(rows, "id int, v string, at timestamp_ntz")
        frame = frame.withColumn("at", frame["at"].cast("timestamp"))
        name = f"{project.test_schema}.rows"
        frame.write.format("delta").mode(mode).saveAsTable(name)

    def rows(self, project: Any, name: str) -> list[tuple[Any, ...]]:
        found = project.run_sql(f"select * from {{schema}}.{name}", fetch="all")
        return sorted((tuple(row) for row in found), key=repr)

    def versions(self, project: Any, name: str) -> int:
        return len(project.run_sql(f"describe history {{schema}}.{name}", fetch="all"))


class TestTablesThatStand(Limited):
    def test_they_stay(self, project: Any, embedded_spark: Any, monkeypatch: Any) -> None:
        self.load(
            project, embedded_spark, [(1, "a", OLD), (None, None, OLD), (2, "b", NEW)], "append"
        )
        run_dbt(["build"])
        before = {
            name: (self.rows(project, name), self.versions(project, name)) for name in REMEMBER
        }
        assert {len(rows) for rows, _ in before.values()} == {2, 3}
        for limit in (*LIMITS, ["--empty", "--full-refresh"]):
            results = run_dbt(["build", *limit])
            said = {result.node.name: result for result in results}
            for name in REMEMBER:
                found = (self.rows(project, name), self.versions(project, name))
                assert found == before[name], (name, limit)
                if name != "in_batches":
                    assert f"nothing written: {limit[0]} limits" in str(said[name].message), name
            seeded = "CREATE 0" if len(limit) == 2 and limit[0] == "--empty" else "INSERT 0"
            assert said["listed"].message == (seeded if limit[0] == "--empty" else "INSERT 2")
            assert len(self.rows(project, "listed")) == (0 if limit[0] == "--empty" else 2)
            rows = self.rows(project, "copied")
            assert [row[0] for row in rows] == ([2] if limit[0] == "--sample" else [])
        monkeypatch.setenv("DBT_EMPTY", "1")
        run_dbt(["build"])
        assert {name: self.rows(project, name) for name in REMEMBER} == {
            name: rows for name, (rows, _) in before.items()
        }


class TestNoTables(Limited):
    @pytest.mark.parametrize("limit", LIMITS, ids=["empty", "sample"])
    def test_the_next_whole_run_builds_them(
        self, project: Any, embedded_spark: Any, limit: list[str]
    ) -> None:
        self.load(
            project, embedded_spark, [(1, "a", OLD), (None, None, OLD), (2, "b", NEW)], "overwrite"
        )
        results = run_dbt(["build", *limit])
        said = {result.node.name: str(result.message) for result in results}
        for name in (*SNAPSHOTS, "answered"):
            assert f"an empty table, without a run: {limit[0]}" in said[name]
            assert self.rows(project, name) == []
        sampled = [] if limit[0] == "--empty" else [2]
        for name in ("appended", "merged", "overwritten", "by_day"):
            assert f"a view, without a run: {limit[0]}" in said[name]
            assert [row[0] for row in self.rows(project, name)] == sampled
        run_dbt(["build"])
        whole = {name: self.rows(project, name) for name in REMEMBER}
        counts = {name: len(rows) for name, rows in whole.items()}
        assert counts == dict.fromkeys(REMEMBER, 3) | {"by_python": 2}
        for name in SNAPSHOTS:
            assert {row[-2 if name == "kept" else -1] for row in whole[name]} == {None}
        for name in REMEMBER:
            project.run_sql(f"drop table {{schema}}.{name}")
