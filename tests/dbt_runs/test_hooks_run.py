"""Each hook runs once, in its place, on every kind of node, whatever it says of a transaction."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from dbt.tests.util import run_dbt

HOOK = "select '%s' as hook, '{{ invocation_id }}' as run"
MARK = re.compile(r"select '(\w+) (\w+ \d)' as hook")
STRATEGIES = {
    "append": "",
    "merge": ", unique_key='id'",
    "insert_overwrite": ", partition_by=['y']",
    "microbatch": ", partition_by=['y'], event_time='ts', batch_size='year', begin='2026-01-01'",
}
QUERY = "select 1 id, timestamp'2026-02-03' ts, 2026 y"
KINDS = {
    "a_table": "materialized='table'",
    "a_view": "materialized='view'",
    **{
        f"by_{strategy}": f"materialized='incremental', incremental_strategy='{strategy}'{rest}"
        for strategy, rest in STRATEGIES.items()
    },
}
CONTINUOUS = "select id, ts from {{ source('raw', 'rows') }} where now() >= ts"
PYTHON = """
def model(dbt, session):
    dbt.config(materialized="{kind}")
    return session.sql("select 1 id")
"""
SOURCES = """
version: 2
sources:
  - name: raw
    schema: "{{ target.schema }}"
    tables: [{name: rows, config: {loaded_at_field: ts}}]
"""
NAMES = (*KINDS, "continuously", "a_seed", "a_snapshot", "py_table", "py_incremental")


def _config(name: str, more: str) -> str:
    """Plain hooks around one of each spelling; the last is no SQL at all."""
    said = []
    for when, macro in (("pre", "before_begin"), ("post", "after_commit")):
        texts = [HOOK % f"{name} {when} {n}" for n in range(5)]
        hooks = [
            f'"{texts[0]}"',
            f'{macro}("{texts[1]}")',
            f'{{"sql": "{texts[2]}", "transaction": false}}',
            f'in_transaction("{texts[3]}")',
            f'"{texts[4]}"',
            '"{% if false %} select 1 {% endif %}"',
        ]
        said.append(f"{when}_hook=[{', '.join(hooks)}]")
    return f"{{{{ config({more}, {', '.join(said)}) }}}} "


def _plain(name: str, when: str) -> list[Any]:
    """The hooks where no macro can be called: in the YAML of a Python model, of a project."""
    texts = [HOOK % f"{name} {when} {n}" for n in range(5)]
    return [texts[0], *({"sql": text, "transaction": False} for text in texts[1:4]), texts[4]]


def _properties() -> str:
    def config(name: str) -> dict[str, Any]:
        return {"pre_hook": _plain(name, "pre"), "post_hook": _plain(name, "post")}

    models = [{"name": name, "config": config(name)} for name in ("py_table", "py_incremental")]
    return json.dumps({"version": 2, "models": models})


class TestHooks:
    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        start = HOOK % "run start %s"
        seeds = {f"+{when}-hook": _plain("a_seed", when) for when in ("pre", "post")}
        return {
            "on-run-start": [f'{{{{ before_begin("{start % 0}") }}}}', start % 1],
            "on-run-end": [f'{{{{ after_commit("{HOOK % "run end 0"}") }}}}'],
            "seeds": {"test": seeds},
        }

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "sources.yml": SOURCES,
            **{f"{name}.sql": _config(name, kind) + QUERY for name, kind in KINDS.items()},
            "continuously.sql": _config("continuously", "materialized='continuous'") + CONTINUOUS,
            "python.yml": _properties(),
            "py_table.py": PYTHON.format(kind="table"),
            "py_incremental.py": PYTHON.format(kind="incremental"),
        }

    @pytest.fixture(scope="class")
    def seeds(self) -> dict[str, str]:
        return {"a_seed.csv": "id\n1\n"}

    @pytest.fixture(scope="class")
    def snapshots(self) -> dict[str, str]:
        config = _config("a_snapshot", "unique_key='id', strategy='check', check_cols='all'")
        return {"a.sql": f"{{% snapshot a_snapshot %}}{config} select 1 id{{% endsnapshot %}}"}

    def test_each_runs_once(self, project: Any) -> None:
        project.run_sql("create table {schema}.rows (id int, ts timestamp) using delta")
        wanted = [f"{when} {n}" for when in ("pre", "post") for n in range(5)]
        for _ in (1, 2):  # a table that is not there, and one that is
            found: dict[str, list[str]] = {}

            def sent(event: Any, found: dict[str, list[str]] = found) -> None:
                text = event.data.sql if event.info.name == "SQLQuery" else ""
                for name, what in MARK.findall(text):
                    found.setdefault(name, []).append(what)
                assert "commit;" not in text

            run_dbt(["build"], callbacks=[sent])
            assert found.pop("run") == ["start 0", "start 1", "end 0"]
            assert found == dict.fromkeys(NAMES, wanted)
