"""`tapestry doctor`: what a server was started with."""

from __future__ import annotations

import pytest
from tests.cli.answers import Answers

from tapestry.cli.check_server import check_server

SIZED = {
    "EXPLAIN": [("== Physical Plan ==\n*(1) Range (0, 1, step=1, splits=4)\n",)],
    "SET spark.master": [("spark.master", "local[4]")],
    "SET spark.sql.shuffle.partitions": [("spark.sql.shuffle.partitions", "4")],
    "SET spark.databricks.delta.snapshotPartitions": [("…", "1")],
    "SET spark.sql.codegen.cache.maxEntries": [("…", "1000")],
    "SET spark.buffer.pageSize": [("…", "512k")],
    "SET spark.driver.extraJavaOptions": [("…", "-XX:ReservedCodeCacheSize=512m")],
}


@pytest.mark.parametrize(
    ("key", "found", "advice"),
    [
        ("spark.sql.shuffle.partitions", "200", "spark.sql.shuffle.partitions=4"),
        ("spark.databricks.delta.snapshotPartitions", "<undefined>", "snapshotPartitions=1"),
        ("spark.sql.codegen.cache.maxEntries", "100", "maxEntries=1000"),
        ("spark.buffer.pageSize", "<undefined>", "pageSize=512k"),
        ("spark.driver.extraJavaOptions", "-Xss4m", "ReservedCodeCacheSize=512m"),
    ],
)
def test_what_a_server_is_started_with(key: str, found: str, advice: str) -> None:
    assert check_server(Answers(SIZED)).status == "ok"
    finding = check_server(Answers({**SIZED, f"SET {key}": [(key, found)]}))
    assert finding.status == "note"
    assert advice in finding.fix
    assert finding.fix.count("--conf") == 1
    assert "4 cores" in finding.told


def test_a_large_clusters_parts_are_no_fault() -> None:
    """200 parts on a hundred cores; and a server that does not say how many it has."""
    large = {
        **SIZED,
        "EXPLAIN": [("Range (0, 1, step=1, splits=100)",)],
        "SET spark.master": [("spark.master", "yarn")],
        "SET spark.buffer.pageSize": [("…", "<undefined>")],
        "SET spark.sql.shuffle.partitions": [("…", "200")],
    }
    assert check_server(Answers(large)).status == "ok"
    assert check_server(Answers({})).status == "note"
