"""Cores of a cluster: sizes by their number, and a word when there are none (no Spark here)."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dbt.adapters.tapestry import workers
from dbt.adapters.tapestry.settings import start_settings

SHUFFLE = "spark.sql.shuffle.partitions"


class Cluster:
    """Spark's context as `workers` sees it: ``registered`` executors of one core each."""

    def __init__(self, registered: int, master: str = "spark://host:7077") -> None:
        self.registered, self.master = registered, master
        conf = SimpleNamespace(get=lambda key, otherwise: otherwise)
        java = SimpleNamespace(
            conf=lambda: conf,
            defaultParallelism=lambda: max(2, self.registered),
            getExecutorMemoryStatus=lambda: SimpleNamespace(size=lambda: self.registered + 1),
        )
        self._jsc = SimpleNamespace(sc=lambda: java)


def _spark(context: Any) -> Any:
    return SimpleNamespace(sparkContext=context)


@pytest.mark.parametrize(
    ("registered", "parts"), [(0, workers.MOST_CORES), (1, "2"), (24, "24"), (500, "200")]
)
def test_parts_by_the_cores_that_are_there(registered: int, parts: str) -> None:
    assert workers.sizes_here(_spark(Cluster(registered)), {}) == {SHUFFLE: parts}


def test_the_profile_and_one_process_keep_theirs() -> None:
    assert workers.sizes_here(_spark(Cluster(8)), {SHUFFLE: "64"}) == {}
    assert workers.sizes_here(_spark(Cluster(8, "local[8]")), {}) == {}
    assert workers.sizes_here(_spark(Cluster(8, "local")), {}) == {}


@pytest.mark.parametrize(
    ("master", "mine"), [("local[2]", True), ("local", True), ("spark://host:7077", False)]
)
def test_functions_run_in_the_environment_of_dbt(
    master: str, mine: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    workers.use_own_python(master)
    assert os.environ.get("PYSPARK_PYTHON") == (sys.executable if mine else None)
    monkeypatch.setenv("PYSPARK_PYTHON", "/of/the/user")
    workers.use_own_python(master)
    assert os.environ["PYSPARK_PYTHON"] == "/of/the/user"


@pytest.mark.parametrize(
    ("master", "limited"),
    [("spark://host:7077", True), ("yarn", False), ("local[4]", False), (None, False)],
)
def test_one_application_does_not_take_a_whole_cluster(
    master: str | None, limited: bool, tmp_path: Path
) -> None:
    def made(given: dict[str, str]) -> dict[str, str]:
        return start_settings(given, tmp_path, master)

    assert made({}).get("spark.cores.max") == (workers.MOST_CORES if limited else None)
    assert made({"spark.cores.max": "64"})["spark.cores.max"] == "64"


def test_a_wait_for_cores_is_told_until_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    twice = threading.Event()

    def warning(text: str) -> None:
        told.append(text)
        if len(told) == 2:
            twice.set()

    monkeypatch.setattr(workers, "PATIENCE", 0.01)
    monkeypatch.setattr(workers, "AGAIN", 0.01)
    monkeypatch.setattr(workers.logger, "warning", warning)
    begun = threading.Event()
    monkeypatch.setattr(workers.logger, "info", lambda text: begun.set())
    cluster: Any = Cluster(0)
    workers.await_workers(cluster)
    assert twice.wait(10)
    assert "spark.cores.max" in told[0]
    assert not begun.is_set()
    cluster.registered = 1
    assert begun.wait(10)


def test_nothing_is_told_where_there_are_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers.logger, "warning", lambda text: pytest.fail(text))
    for context in (Cluster(1), Cluster(0, "local[2]")):
        workers.await_workers(context)  # type: ignore[arg-type]
