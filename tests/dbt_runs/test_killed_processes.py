"""Real `dbt run` processes, killed by SIGKILL at every point of a run, and racing each other.

One project lives through all of it, because each process starts a Spark of its own. What is loaded
comes from a pre-hook, just before the run looks at its source.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tapestry.runs.protocol.crash import ENVIRONMENT

CREATE = "create table if not exists demo.messages (id int, parent int, ts timestamp) using delta"
MODEL = """
{{ config(materialized='continuous', pre_hook=[var('create', 'select 1'), var('load', 'select 1')],
          post_hook="create or replace table demo.report using delta as
                     select id, date_format(_matched_at, 'ss.SSSSSS') as s from {{ this }}") }}
select m.id from {{ source('demo', 'messages') }} m
where now() >= m.ts + interval 10 seconds
  and not exists (select 1 from {{ source('demo', 'messages') }} r where r.parent = m.id)
"""
SOURCES = """
version: 2
sources:
  - name: demo
    tables: [{name: messages, config: {loaded_at_field: ts}}]
"""
PROFILE = (
    "p: {target: t, outputs: {t: {type: tapestry, method: session, schema: demo, threads: 1}}}"
)
SHOW = """
import sys
from dbt.adapters.tapestry.embedded import start
rows = start(root=sys.argv[1]).sql(sys.argv[2]).collect()
import json; print(json.dumps([list(row) for row in rows]))
"""


class Project:
    """A dbt project of one model in a folder; every run is a process."""

    def __init__(self, root: Path, model: str = MODEL) -> None:
        self.root = root
        (root / "models").mkdir()
        (root / "models/old.sql").write_text(model)
        (root / "models/sources.yml").write_text(SOURCES)
        (root / "profiles.yml").write_text(PROFILE)
        (root / "dbt_project.yml").write_text("{name: killed, profile: p, config-version: 2}")

    def start(
        self, second: int, crash_at: str = "", load: str = "select 1", name: str = ""
    ) -> subprocess.Popen[str]:
        """A `dbt run` as of an instant, dying at a point."""
        variables = {"create": CREATE, "load": load}
        arguments = ["run", "--vars", json.dumps(variables), "--no-partial-parse"]
        if name:
            arguments += ["--target-path", f"target_{name}", "--log-path", f"logs_{name}"]
        environment = {
            **os.environ,
            "TAPESTRY_AS_OF": f"2026-01-01 00:00:{second:02d}",
            "DBT_PROFILES_DIR": str(self.root),
            "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
            ENVIRONMENT: crash_at,
        }
        return subprocess.Popen(
            [sys.executable, "-m", "dbt.cli.main", *arguments],
            cwd=self.root,
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def run(self, second: int, crash_at: str = "", load: str = "select 1") -> None:
        """One run to its end, be it good or by SIGKILL."""
        process = self.start(second, crash_at, load)
        output, _ = process.communicate(timeout=600)
        assert process.returncode == (-signal.SIGKILL if crash_at else 0), output

    def race(self, *seconds: int) -> None:
        """Runs at once, each as of its second: one wins, the others end well or say who won."""
        racers = [self.start(second, name=str(second)) for second in seconds]
        outputs = [racer.communicate(timeout=600)[0] for racer in racers]
        codes = [racer.returncode for racer in racers]
        assert 0 in codes, outputs
        for code, output in zip(codes, outputs, strict=True):
            assert code == 0 or "nothing is lost" in output or "the last run went to" in output

    def answers(self) -> list[tuple[int, str]]:
        """What stands in the target: id and seconds of the first instant."""
        return self.rows(
            "select id, date_format(_matched_at, 'ss.SSSSSS') as s from demo.old order by 1, 2"
        )

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """What a query finds, by a Spark of its own."""
        shown = subprocess.run(
            [sys.executable, "-c", SHOW, str(self.root), sql],
            capture_output=True,
            text=True,
            check=True,
            cwd=self.root,
        )
        return [tuple(row) for row in json.loads(shown.stdout.splitlines()[-1])]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    return Project(tmp_path_factory.mktemp("killed"))


def rows(*messages: tuple[int, str, int]) -> str:
    """An INSERT of (id, parent, second)."""
    values = ", ".join(f"({i}, {p}, timestamp'2026-01-01 00:00:{s:02d}')" for i, p, s in messages)
    return f"insert into demo.messages values {values}"


def test_killed_at_every_point(project: Project) -> None:
    """The end is what one undisturbed run after another gives, late rows included."""
    project.run(12, "planned", rows((1, "null", 0), (2, "null", 1), (3, "2", 5)))
    project.run(12, "claimed")
    project.run(12, "committed")
    late = rows((4, "null", 3), (5, "null", 16))
    project.run(20, "claimed", late)  # 4 came late: it arrives just after 12
    project.run(21, "before_written")  # brings the crashed run to its end, or would
    project.run(22, "committed")
    project.run(30, "confirmed")
    project.run(40)
    # 3 answers 2; of 4, ts + 10 seconds has passed when it arrives
    assert project.answers() == [
        (1, "10.000000"),
        (3, "15.000000"),
        (4, "13.000000"),
        (5, "26.000000"),
    ]


def test_two_processes_at_once(project: Project) -> None:
    """One wins; the other ends with ConcurrentRun or runs the window after it."""
    project.run(41, load=rows((6, "null", 35), (7, "null", 36)))
    project.race(46, 47)
    project.run(50)
    assert project.answers()[-2:] == [(6, "45.000000"), (7, "46.000000")]
