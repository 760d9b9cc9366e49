"""Two processes work in one warehouse at once, and one outlives the other's death."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.spark

WORKER = """
import sys
from dbt.adapters.tapestry import embedded

spark = embedded.start(
    {"spark.driver.memory": "512m", "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1"},
    root=sys.argv[1], master="local[1]", log_path=sys.argv[2],
)
print("up", flush=True)
for line in sys.stdin:
    try:
        rows = spark.sql(line.strip()).collect()
        print([list(row) for row in rows], flush=True)
    except Exception as error:
        print("error", str(error).splitlines()[0], flush=True)
"""


class Worker:
    """A process with a Spark of its own; `ask` sends it one statement."""

    def __init__(self, root: Path, name: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", WORKER, str(root), name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def line(self) -> str:
        assert self.process.stdout
        return self.process.stdout.readline().strip()

    def ask(self, sql: str) -> str:
        assert self.process.stdin
        self.process.stdin.write(sql + "\n")
        self.process.stdin.flush()
        return self.line()

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


@pytest.fixture
def workers(tmp_path: Path) -> Iterator[tuple[Worker, Worker]]:
    """Started in the same second, in a warehouse that is not there yet."""
    pair = Worker(tmp_path, "first"), Worker(tmp_path, "second")
    yield pair
    for worker in pair:
        if worker.process.poll() is None:
            worker.kill()


def test_two_processes_share_a_catalog_and_survive_each_other(
    workers: tuple[Worker, Worker], tmp_path: Path
) -> None:
    first, second = workers
    assert (first.line(), second.line()) == ("up", "up")
    assert first.ask("create schema s") == "[]"
    assert second.ask("create table s.t as select 1 as a") == "[]"
    assert first.ask("select a from s.t") == "[[1]]"
    assert first.ask("create view s.v as select a + 1 as b from s.t") == "[]"
    assert second.ask("select b from s.v") == "[[2]]"

    # Whichever of the two serves the catalog: kill one, and a newcomer after it.
    first.kill()
    assert second.ask("create table s.u as select 2 as a") == "[]"
    assert second.ask("select b from s.v") == "[[2]]"
    third = Worker(tmp_path, "third")
    try:
        assert third.line() == "up"
        second.kill()
        assert third.ask("select a from s.u") == "[[2]]"
        assert third.ask("create table s.w as select 3 as a") == "[]"
        assert third.ask("drop schema s cascade") == "[]"
    finally:
        third.kill()
    assert os.path.exists(tmp_path / "third" / "spark.log")
