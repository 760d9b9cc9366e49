"""Of keys that lay a table out the effect is seen on each kind that the table of keys names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from dbt.tests.util import run_dbt, run_dbt_and_capture

from dbt.adapters.tapestry.config_keys import KINDS, SEED, SNAPSHOT, VIEW, WORKS

MORE = {
    "incremental, merge": {"unique_key": "id"},
    "incremental, microbatch": {
        "event_time": "ts",
        "batch_size": "year",
        "begin": "2026-01-01",
        "partition_by": ["y"],
    },
    SNAPSHOT: {"strategy": "check", "check_cols": "all", "unique_key": "id"},
}
QUERY = "select 1 id, timestamp'2026-02-03' ts, 2026 y"
PYTHON = """
def model(dbt, session):
    return session.sql("select 1 id, timestamp'2026-02-03' ts, 2026 y")
"""
SOURCE = {"name": "raw", "tables": [{"name": "rows", "config": {"loaded_at_field": "ts"}}]}
PYTHONS = ("python, table", "python, incremental")


def _settings(root: str) -> dict[str, dict[str, Any]]:
    """What is set at once, so that each kind is built twice."""
    laid_out = {
        "location_root": root,
        "tblproperties": {"delta.logRetentionDuration": "interval 9 days"},
    }
    return {
        "liquid": {**laid_out, "liquid_clustered_by": ["ID"]},
        "parted": {**laid_out, "partition_by": "Y"},
        "buckets": {"file_format": "parquet", "clustered_by": ["ID"], "buckets": 2},
    }


def _name(setting: str, kind: str) -> str:
    return f"{setting}_{kind.replace(', ', '_')}"


def _wanted(setting: str, kind: str) -> bool:
    if setting == "buckets":  # Delta's tables have none
        return kind in ("table", "incremental, append", SEED, "python, table")
    # dbt-spark's microbatch wants the partitions of its batches
    return kind != VIEW and not (setting == "liquid" and kind == "incremental, microbatch")


class TestEffects:
    @pytest.fixture(scope="class")
    def root(self, tmp_path_factory: pytest.TempPathFactory) -> Path:
        return tmp_path_factory.mktemp("elsewhere")

    @pytest.fixture(scope="class")
    def models(self, root: Path) -> dict[str, str]:
        found: dict[str, str] = {}
        entries = []
        for setting, config in _settings(str(root)).items():
            for kind in (*KINDS, *PYTHONS):
                if not _wanted(setting, kind) or kind in (SEED, SNAPSHOT):
                    continue
                language, _, of = kind.rpartition(", ") if kind in PYTHONS else ("", "", kind)
                materialized, _, strategy = of.partition(", ")
                by = {"incremental_strategy": strategy} if strategy else {}
                name = _name(setting, kind)
                config_of = {**MORE.get(kind, {}), **by, **config, "materialized": materialized}
                entries.append({"name": name, "config": config_of})
                query = "select id, ts, y from {{ source('raw', 'rows') }} where now() >= ts"
                text = PYTHON if language else query if kind == "continuous" else QUERY
                found[f"{name}.{'py' if language else 'sql'}"] = text
        source = {**SOURCE, "schema": "{{ target.schema }}"}
        yaml = {"version": 2, "models": entries, "sources": [source]}
        return {**found, "models.yml": json.dumps(yaml)}

    @pytest.fixture(scope="class")
    def seeds(self, root: Path) -> dict[str, str]:
        names = {s: _name(s, SEED) for s in _settings("") if _wanted(s, SEED)}
        entries = [
            {"name": name, "config": _settings(str(root))[setting]}
            for setting, name in names.items()
        ]
        files = {f"{name}.csv": "id,y\n1,2026\n" for name in names.values()}
        return {**files, "seeds.yml": json.dumps({"version": 2, "seeds": entries})}

    @pytest.fixture(scope="class")
    def snapshots(self, root: Path) -> dict[str, str]:
        found = {}
        for setting, config in _settings(str(root)).items():
            if _wanted(setting, SNAPSHOT):
                said = ", ".join(f"{k}={v!r}" for k, v in {**MORE[SNAPSHOT], **config}.items())
                name = _name(setting, SNAPSHOT)
                found[f"{name}.sql"] = (
                    f"{{% snapshot {name} %}}{{{{ config({said}) }}}} {QUERY}{{% endsnapshot %}}"
                )
        return found

    def test_each_is_seen(self, project: Any, root: Path) -> None:
        project.run_sql("create table {schema}.rows (id int, ts timestamp, y int) using delta")
        project.run_sql("insert into {schema}.rows values (1, timestamp'2026-01-01', 2026)")
        run_dbt(["build"])
        run_dbt(["build", "--select", "liquid_*"])
        for setting in _settings(""):
            for kind in (*KINDS, *PYTHONS):
                if not _wanted(setting, kind):
                    continue
                name = _name(setting, kind)
                if setting == "buckets":
                    rows = project.run_sql(f"describe extended {{schema}}.{name}", fetch="all")
                    told = {row[0]: row[1] for row in rows}
                    assert (told["Num Buckets"], told["Bucket Columns"]) == ("2", "[`id`]"), name
                    continue
                (row,) = project.run_sql(f"describe detail {{schema}}.{name}", fetch="all")
                said = " ".join(map(str, row))
                assert str(root / name) in said, name
                assert "interval 9 days" in said, name
                assert ("['y']" if setting == "parted" else "['id']") in said, (name, said)
                assert project.run_sql(f"select id from {{schema}}.{name}", fetch="all"), name


class TestTold:
    """What does nothing is said once for all models of a kind; what is misspelt stops one."""

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        def config(**given: Any) -> str:
            return (
                f"{{{{ config({', '.join(f'{k}={v!r}' for k, v in given.items())}) }}}} select 1 id"
            )

        return {
            "one.sql": config(materialized="table", cluster_by=["id"], verify="full"),
            "two.sql": config(materialized="table", cluster_by=["id"], meta={"verfy": "full"}),
            "bad.sql": config(materialized="table", meta={"expectation": []}),
            "props.sql": config(materialized="view", tblproperties={"team": "us"}),
        }

    def test_once(self, project: Any) -> None:
        results, output = run_dbt_and_capture(["run"], expect_pass=False)
        said = {r.node.name: str(r.message) for r in results if str(r.status) == "error"}
        assert set(said) == {"bad"}
        assert "did you mean expectations?" in said["bad"]
        assert output.count("cluster_by does nothing") == 1
        assert "liquid_clustered_by lays a Delta table out" in output
        assert output.count("verify does nothing") == 1
        assert "did you mean verify" in output
        assert WORKS["verify"] == ("continuous",)
        rows = project.run_sql("show tblproperties {schema}.props", fetch="all")
        assert dict(tuple(row)[:2] for row in rows)["team"] == "us"
