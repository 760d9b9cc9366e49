"""A continuous model where Spark's workers are processes of their own."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from there import RIGHT, make_project, run_twice

pytestmark = pytest.mark.spark

OUTPUT = {
    "type": "tapestry",
    "method": "session",
    "master": "local-cluster[1,1,1024]",
    "schema": "there",
    "server_side_parameters": {"spark.executor.memory": "1g", "spark.driver.memory": "1g"},
}
NOT_LOCAL = """
from dbt.adapters.tapestry.embedded import start
assert not start().sparkContext._jsc.sc().isLocal()
"""


def test_two_runs(tmp_path: Path) -> None:
    """They read and commit Delta's logs in processes that Spark started, not this one."""
    make_project(tmp_path, OUTPUT)
    assert run_twice(tmp_path, NOT_LOCAL) == RIGHT
