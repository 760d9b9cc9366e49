"""The first start: one process fetches, the others wait; what failed is tried again and told."""

from __future__ import annotations

import fcntl
import os
import threading
from pathlib import Path

import pytest

from dbt.adapters.tapestry import fetch, jars
from dbt.adapters.tapestry.log import size, tail
from tapestry.errors import ConfigurationError
from tapestry.folders import open_lock

IVY = """\
\t\tmodule not found: io.delta#delta-spark_4.1_2.13;4.3.1
\tServer access error at url https://me:secret@m.example/x.pom (java.net.UnknownHostException: m)
\t\t::          UNRESOLVED DEPENDENCIES         ::
Exception in thread "main" java.lang.RuntimeException: [unresolved dependency: x]
"""


@pytest.fixture
def first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The settings of a first start."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(fetch, "PAUSES", (0.0, 0.0))
    return jars.jar_settings({"spark.jars.ivy": str(tmp_path / "ivy")})


def test_the_second_waits_and_then_fetches_nothing(first: dict[str, str], tmp_path: Path) -> None:
    jar = tmp_path / "delta.jar"
    jar.touch()
    found: list[dict[str, str]] = []

    def second() -> None:
        with fetch.one_fetches(first) as settings:
            found.append(settings)

    with fetch.one_fetches(first) as settings:
        assert settings == first, "nothing was fetched yet"
        other = threading.Thread(target=second)
        other.start()
        other.join(0.5)
        assert found == [], "it waits"
        jars.remember(settings["spark.jars.packages"], f"file://{jar}")
    other.join(30)
    assert [one.get("spark.jars") for one in found] == [str(jar)]
    assert "spark.jars.packages" not in found[0]


def test_a_wait_ends_and_names_who_is_waited_for(
    first: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch, "_WAIT", 0.3)
    held = Path(first["spark.jars.ivy"]) / fetch.LOCK
    with fetch.one_fetches(first):
        for text in (None, b"", b"process 1\x1b[2J of x", b"\xff"):
            if text is not None:
                held.write_bytes(text)
            with pytest.raises(ConfigurationError) as caught, fetch.one_fetches(first):
                pass
            who = "another process" if text is not None else f"process {os.getpid()} of "
            assert who in str(caught.value)
            assert "run again when it is done; end it, if it hangs" in str(caught.value)
            assert str(held) in str(caught.value)
    with fetch.one_fetches(first) as settings:
        assert settings == first, "who gave up holds nothing"


def test_who_waited_for_one_that_failed_fetches(first: dict[str, str]) -> None:
    with pytest.raises(fetch.NotFetched), fetch.one_fetches(first):
        raise fetch.NotFetched("no network")
    with fetch.one_fetches(first) as settings:
        assert settings == first


@pytest.mark.parametrize("failures", [0, 1, 2, 3])
def test_what_was_not_fetched_is_tried_twice_more(failures: int, first: dict[str, str]) -> None:
    asked = []

    def start() -> str:
        asked.append(1)
        if len(asked) <= failures:
            raise fetch.NotFetched("no network")
        return "up"

    if failures < 3:
        assert fetch.retried(start) == "up"
    else:
        with pytest.raises(fetch.NotFetched):
            fetch.retried(start)
    assert len(asked) == min(failures + 1, 3)


def test_another_failure_is_not_tried_again(first: dict[str, str]) -> None:
    asked = []

    def start() -> None:
        asked.append(1)
        raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011
        fetch.retried(start)
    assert asked == [1]


def test_jars_that_are_there_wait_for_nobody(first: dict[str, str]) -> None:
    Path(first["spark.jars.ivy"]).mkdir(parents=True, exist_ok=True)
    lock = open_lock(Path(first["spark.jars.ivy"]) / fetch.LOCK)
    fcntl.flock(lock, fcntl.LOCK_EX)
    settings = {"spark.jars": "a.jar", "spark.jars.ivy": first["spark.jars.ivy"]}
    with fetch.one_fetches(settings) as found:
        assert found == settings
    os.close(lock)


def test_what_failed_is_told_without_passwords_and_of_this_start_only(tmp_path: Path) -> None:
    log = tmp_path / "spark.log"
    log.write_text(IVY.replace("UnknownHost", "Earlier"))
    seen = size(log)
    assert fetch.not_fetched(tail(log, after=seen), log) is None
    with log.open("a") as file:
        file.write(IVY)
    error = fetch.not_fetched(tail(log, after=seen), log)
    assert error is not None
    assert "io.delta#delta-spark_4.1_2.13;4.3.1" in error.msg
    assert "https://m.example/x.pom (java.net.UnknownHostException: m)" in error.msg
    assert "secret" not in error.msg
    assert "Earlier" not in error.msg
    assert str(log) in error.msg
