"""A continuous model where Spark's workers are processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = "{name: there, profile: p, config-version: 2}"
PROFILE = """
p:
  target: t
  outputs:
    t:
      type: tapestry
      method: session
      master: "local-cluster[1,1,1024]"
      schema: there
      server_side_parameters: {spark.executor.memory: 1g, spark.driver.memory: 1g}
"""
SOURCES = """
sources:
  - name: there
    tables: [{name: messages, config: {loaded_at_field: ts}}]
models:
  - name: unanswered
    config:
      expectations:
        - {name: not_two, expect: "id <> 2", on_violation: drop}
"""
MODEL = """
{{ config(materialized='continuous') }}
select m.id from {{ source('there', 'messages') }} m
where now() > m.ts + interval 1 day
  and not exists (select 1 from {{ source('there', 'messages') }} r where r.parent = m.id)
"""
RUN = """
import os, sys
from dbt.cli.main import dbtRunner

def dbt(*words):
    result = dbtRunner().invoke([*words, "--quiet"])
    if not result.success:
        raise SystemExit(str(result.exception or [r.message for r in result.result]))
    return result

from dbt.adapters.tapestry.embedded import start
for batch, as_of in enumerate(("2026-01-03", "2026-01-06")):
    os.environ["TAPESTRY_AS_OF"] = as_of
    dbt("run-operation", "fill", "--args", f"{{batch: {batch}}}")
    dbt("run")
spark = start()
assert not spark.sparkContext._jsc.sc().isLocal()
rows = spark.sql("select id from there.unanswered order by id").collect()
rejected = spark.sql("select id from there.unanswered__rejected order by id").collect()
versions = spark.sql("describe history there.unanswered").count()
print([row.id for row in rows], [row.id for row in rejected], versions)
"""
FILL = """
{% macro fill(batch) %}
  {% do run_query("create schema if not exists there") %}
  {% do run_query("create table if not exists there.messages"
     ~ " (id int, parent int, ts timestamp) using delta") %}
  {% set rows = [
    "(1, null, timestamp'2026-01-01'), (2, null, timestamp'2026-01-01 12:00:00'),"
    ~ " (3, 1, timestamp'2026-01-01 13:00:00')",
    "(4, null, timestamp'2026-01-04'), (5, 3, timestamp'2026-01-04')"] %}
  {% do run_query("insert into there.messages values " ~ rows[batch]) %}
{% endmacro %}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in {
        "dbt_project.yml": PROJECT,
        "profiles.yml": PROFILE,
        "models/there.yml": SOURCES,
        "models/unanswered.sql": MODEL,
        "macros/fill.sql": FILL,
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_two_runs(project: Path) -> None:
    """They read and commit Delta's logs in processes that Spark started, not this one."""
    done = subprocess.run(
        [sys.executable, "-c", RUN], cwd=project, capture_output=True, text=True, env=os.environ
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr[-3000:]}"
    # 3 was an answer from Jan 2nd, 13:00, before 5 came; 5 and 4 became one on Jan 5th.
    assert done.stdout.splitlines()[-1] == "[3, 4, 5] [2] 2", done.stdout
