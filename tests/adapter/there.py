"""A project with two models, run twice: for the tests of the ways to reach a Spark."""

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
    tables:
      - {name: messages, config: {loaded_at_field: ts}}
      - {name: stock}
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
KEPT = """
{{ config(materialized='maintained', refresh='incremental', verify='full',
          expectations=[{'name': 'some', 'expect': 'units > 0', 'on_violation': 'drop'}]) }}
select s.shelf, sum(s.units) as units, max(m.id) as newest
from {{ source('there', 'stock') }} s
left join {{ source('there', 'messages') }} m on m.id % 2 = s.shelf
group by s.shelf
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
    "kept": json.loads(look(
        "select to_json(sort_array(collect_list(struct(*)))) from there.stock_of_shelves")[0]),
    "rejected": [int(one) for one in look("select id from there.unanswered__rejected")],
    "verified": look("select verification from there.tapestry_runs order by 1"),
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
  {% do run_query("create table if not exists there.stock (shelf int, units int) using delta") %}
  {% for change in [
    ["insert into there.stock values (0, 1), (0, 2), (1, 3), (2, 4), (3, 0)"],
    ["update there.stock set units = 9 where shelf = 0 and units = 2",
     "delete from there.stock where shelf = 1", "insert into there.stock values (3, 5)"],
  ][batch] %}
    {% do run_query(change) %}
  {% endfor %}
{% endmacro %}
"""

RIGHT = {
    "answers": [3, 4, 5],
    "kept": [
        {"shelf": 0, "units": 20, "newest": 4},
        {"shelf": 2, "units": 4},
        {"shelf": 3, "units": 5},
    ],
    "rejected": [2],
    "verified": ["off", *["passed"] * 3],  # the first maintained table is written as computed
}
"""3 was an answer from Jan 2nd, 13:00, before 5 came; 5 and 4 became one on Jan 5th.  Shelf 0 joins
two messages; shelf 1 went, shelf 3 came when it had some."""


def make_project(root: Path, output: dict[str, Any]) -> None:
    """Its files; ``output`` is the target in profiles.yml."""
    for name, text in {
        "dbt_project.yml": PROJECT,
        "profiles.yml": json.dumps({"p": {"target": "t", "outputs": {"t": output}}}),
        "models/there.yml": SOURCES,
        "models/unanswered.sql": MODEL,
        "models/stock_of_shelves.sql": KEPT,
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
