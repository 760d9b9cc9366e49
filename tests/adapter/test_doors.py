"""What another user of the machine can see of an embedded Spark, and where he can knock."""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.adapter.test_folders import AS_NOBODY, as_root

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(sys.platform != "linux", reason="reads Linux' /proc"),
]
RPC, FAILURE = 3, 5
"""Spark's numbers for a message that wants an answer, and for an answer that says no."""


WORKER = """
import json, os, sys
from dbt.adapters.tapestry import embedded

spark = embedded.start({"spark.driver.memory": "600m"}, root=sys.argv[1], master="local[1]")
spark.sql("CREATE SCHEMA doors")
spark.sql("CREATE TABLE doors.t USING delta AS SELECT id FROM range(9)")
context = spark.sparkContext
manager = spark._jvm.org.apache.spark.SparkEnv.get().blockManager()
driver = context._jsc.sc().conf().get("spark.driver.port")
said = [context.getConf().getAll(), spark.sql("SET").collect(), spark.sql("SET -v").collect()]
told = {
    "python": os.getpid(),
    "java": context._gateway.proc.pid,
    "py4j": context._gateway.gateway_parameters.port,
    "token": context._gateway.gateway_parameters.auth_token,
    "spark": [int(driver), manager.blockManagerId().port()],
    "said": str(said),
}
print(json.dumps(told), flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("doors")


@pytest.fixture(scope="module")
def told(root: Path) -> Iterator[dict[str, Any]]:
    """A Spark as the adapter starts it, in a process of its own, which holds a table."""
    command = [sys.executable, "-c", WORKER, str(root)]
    environment = {**os.environ, "TAPESTRY_ENGINE": "own"}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=root, env=environment
    ) as worker:
        assert worker.stdin is not None
        assert worker.stdout is not None
        yield json.loads(worker.stdout.readline())
        worker.stdin.close()


@pytest.fixture
def process(told: dict[str, Any]) -> Path:
    """What the system shows of Spark's JVM."""
    return Path(f"/proc/{told['java']}")


@pytest.fixture
def password(told: dict[str, Any], root: Path) -> str:
    return (root / "warehouse" / ".catalog" / "password").read_text()


def listening(told: dict[str, Any]) -> dict[int, str]:
    """Ports on which Spark's processes listen, and the address of each."""
    mine = set()
    for each in (Path(f"/proc/{told['java']}"), Path(f"/proc/{told['python']}")):
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


def test_everything_listens_on_the_loopback(told: dict[str, Any]) -> None:
    found = listening(told)
    assert len(found) >= 4  # py4j, the driver, its blocks, the catalog
    assert set(found.values()) <= {"0100007F", "0000000000000000FFFF00000100007F"}
    for port in found:
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.2", port), timeout=5)


def test_nobody_reads_objects_from_strangers(told: dict[str, Any]) -> None:
    """The driver and its blocks take Java objects: not before a proof of the secret."""
    for port in told["spark"]:
        with socket.create_connection(("127.0.0.1", port), timeout=20) as knock:
            body = b"\xac\xed\x00\x05" + b"x" * 20
            message = struct.pack(">bqi", RPC, 1, len(body)) + body
            knock.sendall(struct.pack(">q", len(message) + 8) + message)
            with knock.makefile("rb") as answers:
                (length,) = struct.unpack(">q", answers.read(8))
                answer = answers.read(length - 8)
            assert answer[0] == FAILURE
            assert b"Expected SaslMessage" in answer, answer[:600]


def test_py4j_wants_its_token(told: dict[str, Any]) -> None:
    assert len(told["token"]) >= 32
    for tried in (b"c\nj\nx\ne\n", b"A\nauth\nwrong\ne\n"):
        with socket.create_connection(("127.0.0.1", told["py4j"]), timeout=20) as knock:
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
    told: dict[str, Any], root: Path, password: str
) -> None:
    assert "javax.jdo.option.ConnectionURL" in told["said"]
    assert password not in told["said"]
    found = subprocess.run(["grep", "-rl", password, root], capture_output=True, text=True).stdout
    assert found.split() == [str(root / "warehouse" / ".catalog" / "password")]


def test_temporary_files_lie_in_a_folder_of_their_own(process: Path, root: Path) -> None:
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
    known = (f"{folder}/", "/tmp/hsperfdata_", f"{sys.prefix}/", f"{root}/")
    assert [path for path in used if path.startswith("/tmp/") and not path.startswith(known)] == []
    assert any("lz4" in path or "snappy" in path for path in used)


@as_root
def test_another_user_sees_none_of_it(process: Path, root: Path) -> None:
    folder = re.search(r"-Djava.io.tmpdir=([^\0]+)", (process / "cmdline").read_text())
    assert folder is not None
    for path in (folder[1], root / "warehouse" / ".catalog", process / "environ", process / "fd"):
        command = [*AS_NOBODY, "ls" if Path(path).is_dir() else "cat", str(path)]
        tried = subprocess.run(command, capture_output=True, text=True, cwd="/")
        assert "Permission denied" in tried.stderr
