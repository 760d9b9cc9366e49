"""Offers of a Spark: who may read them, which are believed. (Joining one: test_engine_joined.)"""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dbt.adapters.tapestry import engine

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
    parameters = SimpleNamespace(port=12345, auth_token="secret")
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
    assert [offer.port for offer in joined] == [12345]
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
