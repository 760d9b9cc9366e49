"""Offers of a Spark: who may read them, which are believed. (Joining one: test_engine_joined.)"""

from __future__ import annotations

import json
import os
import socket
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.adapter.test_folders import NOBODY, as_root

from dbt.adapters.tapestry import engine
from dbt.adapters.tapestry.engine import listeners

PORT = 12345
SETTINGS = {"spark.sql.warehouse.dir": "/data/w", "spark.jars": "a.jar"}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv(engine.VARIABLE, raising=False)
    return tmp_path


@pytest.fixture
def joined(monkeypatch: pytest.MonkeyPatch) -> list[engine.Offer]:
    """The offers that were followed; none leads anywhere."""
    followed: list[engine.Offer] = []

    def attach(offer: engine.Offer) -> Any:
        followed.append(offer)
        raise ConnectionRefusedError

    monkeypatch.setattr(engine, "_attach", attach)
    return followed


def offered(settings: dict[str, str] = SETTINGS) -> Path:
    parameters = SimpleNamespace(port=PORT, auth_token="secret")
    context: Any = SimpleNamespace(_gateway=SimpleNamespace(gateway_parameters=parameters))
    return engine.write_offer(context, settings)


def test_an_offer_is_for_its_owner_alone() -> None:
    path = offered()
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert json.loads(path.read_text())["token"] == "secret"


def test_an_offer_with_the_same_settings_is_followed(joined: list[engine.Offer]) -> None:
    offered()
    assert engine.join({**SETTINGS, "spark.jars": "other.jar"}) is None
    assert [offer.port for offer in joined] == [PORT]
    assert engine.join({**SETTINGS, "spark.sql.warehouse.dir": "/data/x"}) is None
    assert len(joined) == 1


def test_what_somebody_else_could_have_written_is_not_believed(joined: list[engine.Offer]) -> None:
    path = offered()
    for mode in (0o640, 0o604, 0o660):
        path.chmod(mode)
        assert engine.join(SETTINGS) is None
    assert joined == []


def test_an_offer_of_a_process_that_is_gone_is_removed(joined: list[engine.Offer]) -> None:
    path = offered()
    offer = json.loads(path.read_text())
    process = os.fork()
    if process == 0:
        os._exit(0)
    os.waitpid(process, 0)
    path.write_text(json.dumps({**offer, "process": process}))
    assert engine.join(SETTINGS) is None
    assert joined == []
    assert not path.exists()


def test_a_port_that_somebody_else_took_is_not_gone_to(
    joined: list[engine.Offer], monkeypatch: pytest.MonkeyPatch
) -> None:
    offered()
    monkeypatch.setattr(engine, "listeners", lambda port: {os.geteuid(), os.geteuid() + 1})
    assert engine.join(SETTINGS) is None
    assert joined == []


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells whose a port is")
def test_whose_a_port_is() -> None:
    for host in ("127.0.0.1", "0.0.0.0"):
        with socket.socket() as server:
            server.bind((host, 0))
            port = server.getsockname()[1]
            assert listeners(port) == set()
            server.listen()
            assert listeners(port) == {os.geteuid()}
        assert listeners(port) == set()


@as_root
def test_a_port_of_another_user_is_known() -> None:
    told, done = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        with socket.create_server(("127.0.0.1", 0)) as server:
            os.write(told[1], str(server.getsockname()[1]).encode())
            os.close(done[1])
            os.read(done[0], 1)
        os._exit(0)
    assert listeners(int(os.read(told[0], 9))) == {NOBODY}
    os.close(done[1])
    os.waitpid(child, 0)


def test_a_cache_that_cannot_be_kept_offers_nothing(
    joined: list[engine.Offer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/none")
    assert engine.join(SETTINGS) is None
    assert joined == []


@pytest.mark.parametrize("text", ["", "{", "[]", '{"port": 1}'])
def test_a_broken_offer_harms_nobody(joined: list[engine.Offer], text: str) -> None:
    offered().write_text(text)
    assert engine.join(SETTINGS) is None
    assert joined == []


def test_the_environment_decides(
    joined: list[engine.Offer], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = offered()
    monkeypatch.setenv(engine.VARIABLE, engine.OWN)
    assert engine.join(SETTINGS) is None
    assert joined == []
    monkeypatch.setenv(engine.VARIABLE, str(path))
    assert engine.join({}) is None
    assert len(joined) == 1
