"""What another user of the machine can see of an embedded Spark, and where he can knock."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import struct
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.adapter.test_folders import AS_NOBODY, as_root

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads Linux' /proc")
RPC, FAILURE = 3, 5
"""Spark's numbers for a message that wants an answer, and for an answer that says no."""


@pytest.fixture(scope="module")
def process(embedded_spark: SparkSession) -> Path:
    """What the system shows of Spark's JVM, while it holds a table."""
    embedded_spark.sql("CREATE SCHEMA IF NOT EXISTS doors")
    embedded_spark.sql("CREATE TABLE IF NOT EXISTS doors.t USING delta AS SELECT id FROM range(9)")
    gateway: Any = embedded_spark.sparkContext._gateway
    return Path(f"/proc/{gateway.proc.pid}")


@pytest.fixture(scope="module")
def password(warehouse: Path) -> str:
    return (warehouse / ".catalog" / "password").read_text()


def listening(process: Path) -> dict[int, str]:
    """Ports on which the process and this one listen, and the address of each."""
    mine = set()
    for each in (process, Path("/proc/self")):
        links = [os.readlink(link) for link in (each / "fd").iterdir() if os.path.lexists(link)]
        mine |= {link[8:-1] for link in links if link.startswith("socket:[")}
    found = {}
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in mine:
                address, _, port = fields[1].rpartition(":")
                found[int(port, 16)] = address
    return found


def test_everything_listens_on_the_loopback(process: Path) -> None:
    found = listening(process)
    assert len(found) >= 4  # py4j, the driver, its blocks, the catalog
    assert set(found.values()) <= {"0100007F", "0000000000000000FFFF00000100007F"}
    for port in found:
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.2", port), timeout=5)


def test_nobody_reads_objects_from_strangers(embedded_spark: SparkSession, process: Path) -> None:
    """The driver and its blocks take Java objects: not before a proof of the secret."""
    conf: Any = embedded_spark.sparkContext._jsc.sc().conf()
    driver = int(conf.get("spark.driver.port"))
    manager: Any = embedded_spark._jvm.org.apache.spark.SparkEnv.get().blockManager()  # type: ignore[union-attr]
    for port in (driver, manager.blockManagerId().port()):
        with socket.create_connection(("127.0.0.1", port), timeout=20) as knock:
            body = b"\xac\xed\x00\x05" + b"x" * 20
            message = struct.pack(">bqi", RPC, 1, len(body)) + body
            knock.sendall(struct.pack(">q", len(message) + 8) + message)
            with knock.makefile("rb") as answers:
                (length,) = struct.unpack(">q", answers.read(8))
                answer = answers.read(length - 8)
            assert answer[0] == FAILURE
            assert b"Expected SaslMessage" in answer, answer[:600]


def test_py4j_wants_its_token(embedded_spark: SparkSession) -> None:
    gateway: Any = embedded_spark.sparkContext._gateway
    parameters = gateway.gateway_parameters
    assert len(parameters.auth_token) >= 32
    for tried in (b"c\nj\nx\ne\n", b"A\nauth\nwrong\ne\n"):
        with socket.create_connection(("127.0.0.1", parameters.port), timeout=20) as knock:
            knock.sendall(tried)
            answer = b""
            with contextlib.suppress(ConnectionResetError):
                while piece := knock.recv(200):
                    answer += piece
            assert answer.startswith(b"!x") or not answer


def test_the_command_line_shows_no_settings(process: Path, password: str) -> None:
    shown = (process / "cmdline").read_text()
    assert "SparkSubmit" in shown
    assert "--conf" not in shown
    assert "spark.sql" not in shown
    assert password not in shown + (process / "environ").read_text()


def test_the_password_is_neither_in_settings_nor_in_logs(
    embedded_spark: SparkSession, warehouse: Path, password: str
) -> None:
    context = embedded_spark.sparkContext
    assert password not in str(context.getConf().getAll())
    for text in ("SET", "SET -v"):
        assert password not in str(embedded_spark.sql(text).collect())
    place = warehouse.parent
    found = subprocess.run(["grep", "-rl", password, place], capture_output=True, text=True).stdout
    assert found.split() == [str(warehouse / ".catalog" / "password")]


def test_temporary_files_lie_in_a_folder_of_their_own(process: Path, warehouse: Path) -> None:
    """Libraries that are loaded among them."""
    shown = (process / "cmdline").read_text().split("\0")
    (option,) = [text for text in shown if text.startswith("-Djava.io.tmpdir=")]
    folder = Path(option.partition("=")[2])
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.name for path in folder.iterdir()} >= {"log4j2.properties", "lock"}
    assert not (folder / "spark.properties").exists()
    maps = (process / "maps").read_text().splitlines()
    used = {line.split(None, 5)[5] for line in maps if "/" in line}
    used |= {os.readlink(link) for link in (process / "fd").iterdir() if os.path.lexists(link)}
    known = (
        f"{folder}/",
        "/tmp/hsperfdata_",
        f"{sys.prefix}/",
        f"{warehouse.parent}/",
        "/tmp/pytest-of-",
    )
    assert [path for path in used if path.startswith("/tmp/") and not path.startswith(known)] == []
    assert any("lz4" in path or "snappy" in path for path in used)


@as_root
def test_another_user_sees_none_of_it(process: Path, warehouse: Path) -> None:
    folder = re.search(r"-Djava.io.tmpdir=([^\0]+)", (process / "cmdline").read_text())
    assert folder is not None
    for path in (folder[1], warehouse / ".catalog", process / "environ", process / "fd"):
        command = [*AS_NOBODY, "ls" if Path(path).is_dir() else "cat", str(path)]
        tried = subprocess.run(command, capture_output=True, text=True, cwd="/")
        assert "Permission denied" in tried.stderr
