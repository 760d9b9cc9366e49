"""`tapestry doctor`: where the catalog is."""

from __future__ import annotations

from pathlib import Path

import pytest

from tapestry.cli.check_catalog import check_catalog
from tapestry.runs.engine.locations import CATALOG_FOLDER


@pytest.mark.parametrize(
    ("given", "master", "status", "says"),
    [
        ({}, None, "ok", "a file in {root}/warehouse"),
        ({"spark.sql.warehouse.dir": "s3a://lake/w"}, None, "wrong", "no folder of this machine"),
        ({"spark.sql.warehouse.dir": "file://data/w"}, None, "wrong", "no folder of this machine"),
        (
            {"spark.sql.warehouse.dir": "hdfs:///w", CATALOG_FOLDER: "/data/catalog"},
            "spark://host:7077",
            "note",
            "another one finds no tables",
        ),
        (
            {
                "spark.sql.warehouse.dir": "abfss://c@a/w",
                "spark.hadoop.javax.jdo.option.ConnectionURL": "jdbc:postgresql://db/c?password=p",
            },
            "spark://host:7077",
            "ok",
            "jdbc:postgresql://db/c, for tables in abfss://c@a/w",
        ),
        ({}, "spark://host:7077", "note", "every worker of spark://host:7077"),
    ],
)
def test_where_the_catalog_is(
    given: dict[str, str], master: str | None, status: str, says: str, tmp_path: Path
) -> None:
    finding = check_catalog(given, tmp_path, master)
    assert finding.status == status
    assert says.format(root=tmp_path) in finding.told
    assert "password" not in finding.told
    assert bool(finding.fix) == (status != "ok")
