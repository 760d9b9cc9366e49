"""`tapestry watch` as a process: failing and recovering, a plain `dbt run` beside it, its end."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

FILES = {
    "dbt_project.yml": "{name: watched, profile: p, config-version: 2,"
    " flags: {send_anonymous_usage_stats: false}}",
    "profiles.yml": "p: {target: t, outputs: {t: {type: tapestry, method: session, schema: watched,"
    " threads: 2, server_side_parameters: {spark.driver.memory: 1g}}}}",
    "models/sources.yml": """
version: 2
sources:
  - name: watched
    tables: [{name: messages, config: {loaded_at_field: ts}}]
""",
    "models/every_one.sql": "{{ config(materialized='continuous', every='1s', priority=5) }}"
    " select id from {{ source('watched', 'messages') }}",
    "models/seldom.sql": "{{ config(materialized='continuous', every='1 hour') }}"
    " select id from {{ source('watched', 'messages') }}",
    "models/broken.sql": "{{ config(materialized='continuous', every='2s') }}"
    " select no_such_column from {{ source('watched', 'messages') }}",
}
CREATE = "create schema if not exists watched; create table if not exists watched.messages"
CREATE += " (id int, ts timestamp) using delta"
SQL = """
import sys
from dbt.adapters.tapestry import embedded, engine
spark = embedded.start({"spark.driver.memory": "1g"}, root=sys.argv[1])
print(hasattr(spark.sparkContext, "_tapestry_joined"))
for text in sys.argv[2].split(";"):
    for row in spark.sql(text).collect():
        print(*row)
"""


def environment(root: Path) -> dict[str, str]:
    cleared = {key: text for key, text in os.environ.items() if not key.startswith("TAPESTRY_")}
    return {**cleared, "DBT_PROFILES_DIR": str(root), "XDG_CACHE_HOME": str(root.parent / "cache")}


class Watch:
    """The process, and the lines that it has said."""

    def __init__(self, root: Path, *options: str) -> None:
        arguments = [
            sys.executable,
            "-c",
            "from tapestry.cli import main; main()",
            "watch",
            "--json",
        ]
        self.root, self.lines = root, list[dict[str, Any]]()
        self.process = subprocess.Popen(
            [*arguments, *options],
            cwd=root,
            env=environment(root),
            text=True,
            stdout=subprocess.PIPE,
            stderr=(root / "watch.err").open("a"),
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for line in self.process.stdout or ():
            self.lines.append(json.loads(line))

    def wait_for(self, wanted: Callable[[dict[str, Any]], bool], since: int = 0) -> dict[str, Any]:
        """The first line of a kind, within five minutes: a busy machine starts Spark in one."""
        until = time.monotonic() + 300
        while time.monotonic() < until:
            for line in self.lines[since:]:
                if wanted(line):
                    return line
            assert self.process.poll() is None, (self.root / "watch.err").read_text()
            time.sleep(0.1)
        raise AssertionError(self.lines[-10:])

    def end(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        code = self.process.wait(60)
        self._reader.join(10)
        return code


def project_of(root: Path, files: dict[str, str]) -> Path:
    """A project, with a cache of its own for what is offered, but not for the paths of the jars."""
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    jars = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dbt-tapestry"
    (root.parent / "cache/dbt-tapestry").mkdir(parents=True)
    for path in jars.glob("jars-*.txt"):
        shutil.copy(path, root.parent / "cache/dbt-tapestry")
    return root


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return project_of(tmp_path_factory.mktemp("watched") / "project", FILES)


def sql(root: Path, text: str) -> list[str]:
    """Statements in another process, which must have joined the watch's Spark; lines of rows."""
    command = [sys.executable, "-c", SQL, str(root), text]
    done = subprocess.run(command, cwd=root, env=environment(root), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    joined, *lines = done.stdout.splitlines()
    assert joined == "True"
    return lines


def delivered(model: str) -> Callable[[dict[str, Any]], bool]:
    return lambda line: line["model"] == model and line["rows"] > 0


def insert(*numbers: int) -> str:
    values = ", ".join(f"({number}, current_timestamp())" for number in numbers)
    return f"insert into watched.messages values {values}"


def test_a_watch(root: Path) -> None:
    watch = Watch(root)
    try:
        # no source table yet: everything fails, and is tried again
        watch.wait_for(lambda line: line["failures"] == 2)
        sql(root, f"{CREATE}; {insert(1, 2)}")
        assert watch.wait_for(delivered("every_one"))["rows"] == 2
        broken = [line for line in watch.lines if line["model"] == "broken"]
        assert {line["status"] for line in broken} == {"failed"}

        # a plain `dbt run` joins the same Spark
        began = time.monotonic()
        arguments = ["run", "--select", "every_one", "--log-level-file", "debug"]
        done = subprocess.run(
            [sys.executable, "-m", "dbt.cli.main", *arguments],
            cwd=root,
            env=environment(root),
            capture_output=True,
            text=True,
        )
        print(f"a plain dbt run beside the watch took {time.monotonic() - began:.1f} s")
        assert done.returncode == 0, done.stdout
        assert "joined the Spark of process" in (root / "logs/dbt.log").read_text()

        seen = len(watch.lines)
        sql(root, insert(3))
        watch.wait_for(delivered("every_one"), seen)
    finally:
        code = watch.end()
    assert code == 1, "broken is failing"
    assert re.search("failing: .*broken", (root / "watch.err").read_text())
    tried = [line["failures"] for line in watch.lines if line["model"] == "broken"]
    assert tried == list(range(1, len(tried) + 1))
    first = next(n for n, line in enumerate(watch.lines) if line["model"] == "broken")
    good = [line for line in watch.lines[first:] if line["model"] == "every_one"]
    assert [line["status"] for line in good].count("ok") >= 2, "the others went on"
    offers = list((root.parent / "cache/dbt-tapestry/engines").glob("*.json"))
    assert offers == []


def test_started_again_it_goes_on(root: Path) -> None:
    watch = Watch(root, "--exclude", "broken")
    try:
        watch.wait_for(lambda line: line["model"] == "every_one")
        seen = len(watch.lines)
        sql(root, insert(4, 5))
        watch.wait_for(delivered("every_one"), seen)
        found = sql(root, "select id, count(*) from watched.every_one group by 1 order by 1")
        assert found == ["1 1", "2 1", "3 1", "4 1", "5 1"]
        process = worker_of(watch.process.pid)
        seen = len(watch.lines)
        os.kill(process, signal.SIGKILL)
        sql(root, insert(6))
        watch.wait_for(delivered("every_one"), seen)
    finally:
        code = watch.end(signal.SIGINT)
    assert code == 0
    assert "a worker was lost" in (root / "watch.err").read_text()


def worker_of(parent: int) -> int:
    """One of a watch's worker processes."""
    listed = subprocess.run(
        ["ps", "-ww", "-o", "pid=,args=", "--ppid", str(parent)], capture_output=True, text=True
    ).stdout
    return next(int(line.split()[0]) for line in listed.splitlines() if "spawn_main" in line)
