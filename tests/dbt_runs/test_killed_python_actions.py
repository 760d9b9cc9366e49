"""Real `dbt run` processes of an action in Python, killed by SIGKILL at every point of a run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.dbt_runs.test_killed_processes import PROFILE, SHOW

from tapestry.runs.protocol.crash import ACTION_POINTS, ENVIRONMENT

pytestmark = pytest.mark.more

RULE = """
{{ config(materialized='rule', when='inserted', pre_hook=[
    "create table if not exists demo.t (id int) using delta
     tblproperties ('delta.enableChangeDataFeed' = true)",
    "create table if not exists demo.log (id int) using delta",
    var('load', 'select 1'), var('free', 'select 1')]) }}
{{ triggered_by(source('demo', 't')) }}
select id from inserted
"""
ACTION = """
def model(dbt, session):
    dbt.config(materialized="action", writes="demo.log")
    from tapestry.actions import batch

    dbt.source("demo", "log")
    one = batch()
    with open("calls.txt", "a") as calls:
        calls.write(f"{one.idempotency_key} {one.attempt}\\n")
    return dbt.ref("r").select("id")
"""
FREE = "update demo.tapestry_batches set lease_until = timestamp'2000-01-01'"
"""What a killed run has claimed is free again."""
SOURCES = """
version: 2
sources:
  - {name: demo, tables: [{name: t}, {name: log}]}
"""


def run(root: Path, load: str = "select 1", crash_at: str = "", free: str = FREE) -> None:
    """One run to its end, be it good or by SIGKILL."""
    variables = json.dumps({"load": load, "free": free})
    environment = {
        **os.environ,
        "DBT_PROFILES_DIR": str(root),
        "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
        ENVIRONMENT: crash_at,
    }
    done = subprocess.run(
        [sys.executable, "-m", "dbt.cli.main", "run", "--vars", variables],
        cwd=root, env=environment, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == (-signal.SIGKILL if crash_at else 0), done.stdout


def rows(root: Path, sql: str) -> list[tuple[Any, ...]]:
    """What a query finds, by a Spark of its own."""
    shown = subprocess.run(
        [sys.executable, "-c", SHOW, str(root), sql],
        capture_output=True, text=True, check=True, cwd=root, timeout=600,
    )  # fmt: skip
    return [tuple(row) for row in json.loads(shown.stdout.splitlines()[-1])]


def test_killed_at_every_point(tmp_path: Path) -> None:
    """Each row is written once, and a function whose rows have landed is not called again."""
    (tmp_path / "models").mkdir()
    for name, text in (
        ("models/r.sql", RULE),
        ("models/act.py", ACTION),
        ("models/sources.yml", SOURCES),
        ("profiles.yml", PROFILE),
        ("dbt_project.yml", "{name: killed, profile: p, config-version: 2}"),
    ):
        (tmp_path / name).write_text(text)
    # what a hook commits comes after the instant of its run, so the next run looks at it
    run(tmp_path, "insert into demo.t values (0)", free="select 1")
    for number, point in enumerate(ACTION_POINTS, 1):
        run(tmp_path, f"insert into demo.t values ({number})", point)
    run(tmp_path, "insert into demo.t values (8), (9)")
    run(tmp_path)
    wanted = [(0,), (1,), (2,), (3,), (8,), (9,)]
    assert rows(tmp_path, "select id from demo.log order by id") == wanted
    calls = (tmp_path / "calls.txt").read_text().splitlines()
    assert {call.split()[1] for call in calls} == {"1"}
    # none is called again: the first was not yet when its run was killed, the others had landed
    assert len(set(calls)) == len(calls) == len(ACTION_POINTS) + 2
