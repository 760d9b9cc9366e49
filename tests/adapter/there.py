"""A project with one model, run twice: for the tests of the ways to reach a Spark."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

PROJECT = "{name: there, profile: p, config-version: 2}"
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
DBT = """
import json, os
from dbt.cli.main import dbtRunner

def dbt(*words):
    result = dbtRunner().invoke([*words, "--quiet"])
    if not result.success:
        raise SystemExit(str(result.exception or [r.message for r in result.result]))
    return result.result
"""
"""The beginning of a program that runs dbt in its own process."""
RUN = (
    DBT
    + """
def look(sql):
    shown = dbt("show", "--inline", sql, "--limit", "-1").results[0].agate_table
    return [row[0] for row in shown.rows]

for batch, as_of in enumerate(("2026-01-03", "2026-01-06")):
    os.environ["TAPESTRY_AS_OF"] = as_of
    dbt("run-operation", "fill", "--args", f"{{batch: {batch}}}")
    dbt("run")
print(json.dumps({
    "answers": [int(one) for one in look("select id from there.unanswered order by id")],
    "rejected": [int(one) for one in look("select id from there.unanswered__rejected")],
    "verified": look("select verification from there.tapestry_runs"),
}))
"""
)
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

RIGHT = {"answers": [3, 4, 5], "rejected": [2], "verified": ["passed", "passed"]}
"""3 was an answer from Jan 2nd, 13:00, before 5 came; 5 and 4 became one on Jan 5th."""


def make_project(root: Path, output: dict[str, Any]) -> None:
    """Its files; ``output`` is the target in profiles.yml."""
    for name, text in {
        "dbt_project.yml": PROJECT,
        "profiles.yml": json.dumps({"p": {"target": "t", "outputs": {"t": output}}}),
        "models/there.yml": SOURCES,
        "models/unanswered.sql": MODEL,
        "macros/fill.sql": FILL,
    }.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text)


def run_twice(root: Path, more: str = "") -> dict[str, Any]:
    """What the tables hold after two runs in a process of their own."""
    command = [sys.executable, "-c", RUN + more]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr[-3000:]}"
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found
