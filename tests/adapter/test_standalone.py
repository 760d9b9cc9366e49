"""A continuous model on a standalone cluster of two workers, and a second application beside it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from standalone import cluster
from there import RIGHT, make_project, run_twice

pytestmark = pytest.mark.spark

TWO_WORKERS = """
from dbt.adapters.tapestry.embedded import new_session, start
spark = start()
executors = spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1
assert executors == {executors}, executors
assert new_session(spark, {{}}).conf.get("spark.sql.shuffle.partitions") == "2"
tasks = spark.sparkContext._jsc.sc().statusStore().executorList(False)
tasks = sum(tasks.apply(place).totalTasks() for place in range(tasks.size()))
assert tasks < {tasks}, tasks
"""


def _output(url: str, **settings: str) -> dict[str, object]:
    of_memory = {"spark.driver.memory": "1g", "spark.executor.memory": "512m"}
    return {
        "type": "tapestry",
        "method": "session",
        "master": url,
        "schema": "there",
        "server_side_parameters": {**of_memory, **settings},
    }


def test_two_runs_on_two_workers(tmp_path: Path) -> None:
    """Cut by the cores that are there, and not into 200 parts."""
    with cluster(tmp_path) as url:
        project = tmp_path / "project"
        project.mkdir()
        make_project(project, _output(url))
        assert run_twice(project, TWO_WORKERS.format(executors=2, tasks=1500)) == RIGHT
