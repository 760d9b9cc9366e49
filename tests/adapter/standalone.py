"""A standalone cluster on the loopback: a master and workers, each a process of its own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

MASTER = "org.apache.spark.deploy.master.Master"
WORKER = "org.apache.spark.deploy.worker.Worker"
UP = 120.0
"""Seconds that a loaded machine may take to start one of them."""


@contextmanager
def cluster(
    folder: Path,
    workers: int = 2,
    cores: int = 1,
    started: list[subprocess.Popen[bytes]] | None = None,
) -> Iterator[str]:
    """The address of a cluster whose workers have so many cores and 1 GiB each.

    ``started`` gets its processes, the master first.
    """
    port = free_port()
    url = f"spark://127.0.0.1:{port}"
    started = [] if started is None else started
    try:
        here = ["--host", "127.0.0.1"]
        started.append(_start(folder, "master", MASTER, *here, "--port", str(port)))
        _wait(folder / "master.log", "ALIVE", started[-1])
        for number in range(workers):
            size = ["--cores", str(cores), "--memory", "1g"]
            work = ["--work-dir", str(folder / "work")]
            name = f"worker-{number}"
            started.append(_start(folder, name, WORKER, *here, *size, *work, url))
            _wait(folder / f"{name}.log", "Successfully registered with master", started[-1])
        yield url
    finally:
        for process in reversed(started):
            with suppress(ProcessLookupError):  # a test has killed it
                os.killpg(process.pid, signal.SIGTERM)
        for process in started:
            process.wait(60)


def _start(folder: Path, name: str, main: str, *words: str) -> subprocess.Popen[bytes]:
    pyspark = pytest.importorskip("pyspark")
    home = Path(pyspark.__file__).parent
    environment = {**os.environ, "SPARK_HOME": str(home), "SPARK_DAEMON_MEMORY": "256m"}
    command = [str(home / "bin/spark-class"), main, "--webui-port", "0", *words]
    with (folder / f"{name}.log").open("wb") as output:
        return subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )


def _wait(log: Path, said: str, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + UP
    while said not in log.read_text(errors="replace"):
        ended = process.poll() is not None or time.monotonic() > until
        assert not ended, log.read_text(errors="replace")[-3000:]
        time.sleep(0.2)


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
    return port
