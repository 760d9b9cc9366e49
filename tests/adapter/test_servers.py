"""A continuous model over a Spark server: Thrift, and Spark Connect."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.tapestry.jars import jar_settings

sys.path.insert(0, str(Path(__file__).parent))

from standalone import free_port
from there import RIGHT, make_project, run_twice

pytestmark = pytest.mark.spark

THRIFT = "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"
CONNECT = "org.apache.spark.sql.connect.service.SparkConnectServer"
SETTINGS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.sql.shuffle.partitions": "1",
    "spark.ui.enabled": "false",
    "spark.driver.host": "localhost",
    "spark.driver.bindAddress": "127.0.0.1",
}


def _answers(port: int) -> bool:
    with socket.socket() as one:
        one.settimeout(1)
        return one.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def server(
    root: Path, main: str, port: int, settings: dict[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    """A Spark server with a warehouse and a catalog of its own, on the loopback address."""
    pyspark = pytest.importorskip("pyspark")
    jars = jar_settings({}).get("spark.jars", "").split(",")
    delta = [jar for jar in jars if Path(jar).name.startswith("io.delta_")]
    assert delta, "the embedded Spark has not fetched Delta's jars yet"
    settings = {
        **SETTINGS,
        **settings,
        # Not spark.jars: a Thrift server's statements do not find all of Delta's classes there.
        "spark.driver.extraClassPath": os.pathsep.join(delta),
        "spark.sql.warehouse.dir": str(root / "warehouse"),
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:{root}/catalog;create=true",
        "spark.sql.catalogImplementation": "hive",
    }
    options = [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
    submit = Path(pyspark.__file__).parent / "bin/spark-submit"
    command = [submit, "--master", "local[2]", "--class", main, *options, "spark-internal"]
    log = root / "server.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=root, stdout=output, stderr=output, start_new_session=True
        )
    try:
        until = time.monotonic() + 120
        while not _answers(port):
            ended = process.poll() is not None or time.monotonic() > until
            assert not ended, log.read_text(errors="replace")[-3000:]
            time.sleep(0.5)
        yield process
    finally:
        with suppress(ProcessLookupError):  # a test has killed it
            os.killpg(process.pid, signal.SIGTERM)
        process.wait(60)


def check(root: Path, main: str, port: int, settings: dict[str, str], output: Any) -> None:
    """Two runs over a server give what they give in one process."""
    make_project(root, {"type": "tapestry", "schema": "there", "threads": 2, **output})
    with server(root, main, port, settings):
        assert run_twice(root) == RIGHT


def test_two_runs_over_thrift(tmp_path: Path) -> None:
    pytest.importorskip("pyhive", reason="dbt-spark[PyHive] is not installed")
    port = free_port()
    settings = {
        "spark.hadoop.hive.server2.thrift.port": str(port),
        "spark.hadoop.hive.server2.thrift.bind.host": "127.0.0.1",
    }
    output = {"method": "thrift", "host": "127.0.0.1", "port": port}
    check(tmp_path, THRIFT, port, settings, output)


def test_two_runs_over_connect(tmp_path: Path) -> None:
    pytest.importorskip("grpc", reason="pyspark[connect] is not installed")
    port = free_port()
    settings = {
        "spark.connect.grpc.binding.port": str(port),
        "spark.connect.grpc.binding.address": "127.0.0.1",
    }
    output = {"method": "session", "master": f"sc://127.0.0.1:{port}"}
    check(tmp_path, CONNECT, port, settings, output)
