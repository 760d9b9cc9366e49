"""A client, a server and a worker killed in the middle of a run: the next run goes on from there.

Nothing is lost and nothing comes twice; what a killed server leaves is said in words.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyhive", reason="dbt-spark[PyHive] is not installed")
pytest.importorskip("grpc", reason="pyspark[connect] is not installed")
sys.path.insert(0, str(Path(__file__).parent))

from standalone import cluster, free_port
from test_servers import CONNECT, THRIFT, server
from there import RIGHT, make_project

pytestmark = pytest.mark.spark

DBT = [sys.executable, "-m", "dbt.cli.main"]
LOOK = """
from dbt.cli.main import dbtRunner
def rows(sql):
    shown = dbtRunner().invoke(["show", "--inline", sql, "--limit", "-1", "--quiet"])
    return [int(row[0]) for row in shown.result.results[0].agate_table.rows]
import json
print(json.dumps({"answers": rows("select id from there.unanswered order by id"),
       "rejected": rows("select id from there.unanswered__rejected")}))
"""
FIRST, SECOND = "2026-01-03", "2026-01-06"
PATIENCE = 900.0
"""Seconds that a loaded machine may take for one command of dbt, with the start of its Spark."""
BEGUN: list[subprocess.Popen[str]] = []
PYTHON = """
def model(dbt, session):
    dbt.config(materialized="table")
    return session.table("there.messages").select("id").where("id > 3")
"""


@dataclass(frozen=True)
class Server:
    """How it is started, how a profile reaches it, and what an error calls it."""

    main: str
    settings: dict[str, str]
    output: dict[str, Any]
    place: str


@pytest.fixture(autouse=True)
def _begun() -> Iterator[None]:
    """End what a failed test has begun: without its cluster, a driver may go on waiting."""
    yield
    while BEGUN:
        process = BEGUN.pop()
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(60)


def _begin(root: Path, as_of: str, *words: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "TAPESTRY_AS_OF": as_of}
    process = subprocess.Popen(
        [*DBT, *words, "--no-use-colors"],
        cwd=root,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    BEGUN.append(process)
    return process


def _dbt(root: Path, as_of: str, *words: str) -> str:
    process = _begin(root, as_of, *words)
    output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, output[-3000:]
    return output


def _fill(root: Path, batch: int) -> None:
    _dbt(root, FIRST, "run-operation", "fill", "--args", f"{{batch: {batch}}}")


def _commits(folder: Path) -> int:
    return len(list(folder.glob("*/tapestry_state/_delta_log/*.json")))


def _in_the_middle(folder: Path, process: subprocess.Popen[str]) -> None:
    """Wait until a run has claimed its window: the table of states has a new commit."""
    before, until = _commits(folder), time.monotonic() + PATIENCE
    while _commits(folder) == before:
        assert process.poll() is None, process.stdout and process.stdout.read()[-3000:]
        assert time.monotonic() < until
        time.sleep(0.05)


def _found(root: Path) -> Any:
    done = subprocess.run(
        [sys.executable, "-c", LOOK], cwd=root, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def _over_connect(port: int) -> Server:
    url = f"sc://127.0.0.1:{port}"
    settings = {
        "spark.connect.grpc.binding.port": str(port),
        "spark.connect.grpc.binding.address": "127.0.0.1",
    }
    return Server(CONNECT, settings, {"method": "session", "master": url}, url)


def _over_thrift(port: int) -> Server:
    settings = {
        "spark.hadoop.hive.server2.thrift.port": str(port),
        "spark.hadoop.hive.server2.thrift.bind.host": "127.0.0.1",
    }
    output = {"method": "thrift", "host": "127.0.0.1", "port": port}
    return Server(THRIFT, settings, output, f"thrift, 127.0.0.1:{port}")


@pytest.mark.parametrize("way", ["connect", "thrift"])
def test_a_client_and_a_server_killed(way: str, tmp_path: Path) -> None:
    port = free_port()
    there = _over_connect(port) if way == "connect" else _over_thrift(port)
    settings = {"spark.driver.memory": "1g", **there.settings}
    make_project(
        tmp_path,
        {"type": "tapestry", "schema": "there", "threads": 8, "open_timeout": 20, **there.output},
    )
    if way == "connect":
        (tmp_path / "models/newest.py").write_text(PYTHON)
    warehouse = tmp_path / "warehouse"
    with server(tmp_path, there.main, port, settings) as process:
        _fill(tmp_path, 0)
        client = _begin(tmp_path, FIRST, "run", "-s", "unanswered")
        _in_the_middle(warehouse, client)
        os.killpg(client.pid, signal.SIGKILL)
        client.wait(60)
        _dbt(tmp_path, FIRST, "run")
        _fill(tmp_path, 1)
        client = _begin(tmp_path, SECOND, "run", "-s", "unanswered")
        _in_the_middle(warehouse, client)
        os.killpg(process.pid, signal.SIGKILL)
        said, _ = client.communicate(timeout=PATIENCE)
        assert client.returncode != 0
        assert "server has ended" in said or "nobody answers" in said, said[-3000:]
        assert there.place in said
        assert "Traceback" not in said, said[-3000:]
    with server(tmp_path, there.main, port, settings):
        _dbt(tmp_path, SECOND, "run")
        found = _found(tmp_path)
        assert found == {key: RIGHT[key] for key in found}


def test_a_worker_killed(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    memory = {"spark.driver.memory": "1g", "spark.executor.memory": "512m"}
    workers: list[subprocess.Popen[bytes]] = []
    with cluster(tmp_path, started=workers) as url:
        output = {"type": "tapestry", "method": "session", "master": url, "schema": "there"}
        make_project(project, {**output, "server_side_parameters": memory})
        _fill(project, 0)
        client = _begin(project, FIRST, "run")
        _in_the_middle(project / "warehouse", client)
        os.killpg(workers[-1].pid, signal.SIGKILL)
        said, _ = client.communicate(timeout=PATIENCE)
        assert client.returncode == 0, said[-3000:]
        _fill(project, 1)
        _dbt(project, SECOND, "run")
        found = _found(project)
        assert found == {key: RIGHT[key] for key in found}
