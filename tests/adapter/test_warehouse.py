"""Where the catalog goes for a warehouse anywhere, without a Spark."""

from __future__ import annotations

from pathlib import Path

import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.tapestry.settings import start_settings
from dbt.adapters.tapestry.warehouse import check_default, make_folders, warehouse_settings
from tapestry.runs.engine.locations import CATALOG_FOLDER, WAREHOUSE, local_folder, same_location

URL = "spark.hadoop.javax.jdo.option.ConnectionURL"
DRIVER = "spark.hadoop.javax.jdo.option.ConnectionDriverName"
ELSEWHERE = [
    "s3a://lake/warehouse",
    "abfss://c@account.dfs.core.windows.net/w",
    "hdfs:///warehouse",
    "gs://b/w",
    "file://host/warehouse",
    "file:warehouse",
    "file:",
    "FILE:///data",
    "viewfs:/w",
    "//nas/share",
    "",
    " ",
]


@pytest.mark.parametrize("warehouse", ELSEWHERE)
def test_no_catalog_is_made_where_there_is_no_folder(
    warehouse: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DbtRuntimeError, match="no folder of this machine") as raised:
        start_settings({WAREHOUSE: warehouse}, tmp_path, None)
    assert URL in raised.value.msg
    assert CATALOG_FOLDER in raised.value.msg
    assert len(raised.value.msg.splitlines()) <= 5
    if warehouse.startswith("file:/"):
        assert "file:///host/warehouse" in raised.value.msg
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("location", "folder"),
    [
        ("/data/w", "/data/w"),
        ("file:/data/w", "/data/w"),
        ("file:///data/w", "/data/w"),
        ("file:////data/w/", "/data/w"),
        ("/data/a:b", "/data/a:b"),
        ("/data/50%25 off#1?x", "/data/50%25 off#1?x"),
        ("file:///data/a%20b", "/data/a%20b"),
    ],
)
def test_folders_as_hadoop_reads_them(location: str, folder: str, tmp_path: Path) -> None:
    assert local_folder(location) == Path(folder)
    settings = warehouse_settings({WAREHOUSE: location}, tmp_path)
    assert f"{folder}/.catalog/catalog" in settings[URL]
    assert same_location(location, folder)
    assert not same_location(location, "/elsewhere")


def test_hadoops_own_default_counts(tmp_path: Path) -> None:
    """Without a scheme a path lies where Hadoop's files say, which a running Spark has read."""
    hdfs = {"spark.hadoop.fs.defaultFS": "hdfs://namenode:8020"}
    with pytest.raises(DbtRuntimeError, match="no folder of this machine"):
        warehouse_settings({WAREHOUSE: "/warehouse", **hdfs}, tmp_path)
    assert URL in warehouse_settings({WAREHOUSE: "file:///warehouse", **hdfs}, tmp_path)
    settings = warehouse_settings({}, tmp_path)
    check_default(settings, "file:///")
    with pytest.raises(DbtRuntimeError, match=r"hdfs://namenode:8020/\S+/warehouse is no folder"):
        check_default(settings, "hdfs://namenode:8020/")
    check_default({**settings, URL: "jdbc:postgresql://db/c"}, "hdfs://namenode:8020/")


def test_a_folder_named_for_the_catalog(tmp_path: Path) -> None:
    own = {WAREHOUSE: "s3a://lake/w", CATALOG_FOLDER: str(tmp_path / "deep" / "catalog")}
    settings = start_settings(own, tmp_path, None)
    assert str(tmp_path / "deep" / "catalog" / ".catalog" / "catalog") in settings[URL]
    assert settings[WAREHOUSE] == "s3a://lake/w"
    make_folders(settings)
    assert [path.name for path in tmp_path.iterdir()] == ["deep"]
    assert (tmp_path / "deep" / "catalog").stat().st_mode & 0o077 == 0
    for named in ("relative", "s3a://lake/catalog", "file://host/catalog"):
        with pytest.raises(DbtRuntimeError, match="it holds an H2 database"):
            warehouse_settings({**own, CATALOG_FOLDER: named}, tmp_path)


def test_a_database_for_the_catalog(tmp_path: Path) -> None:
    """All of Hive's tables are made before its first transaction would wait for them."""
    base = {WAREHOUSE: "s3a://lake/w"}
    settings = warehouse_settings({**base, URL: "jdbc:postgresql://db/catalog"}, tmp_path)
    assert URL not in settings
    assert DRIVER not in settings
    assert "spark.hadoop.datanucleus.mapping.Schema" not in settings
    assert "MTable," in settings["spark.hadoop.datanucleus.autoStartClassNames"]
    h2 = warehouse_settings({**base, URL: "jdbc:h2:tcp://host/catalog"}, tmp_path)
    assert h2[DRIVER] == "org.h2.Driver"
    assert h2["spark.hadoop.datanucleus.mapping.Schema"] == "PUBLIC"
    metastore = warehouse_settings(
        {**base, "spark.hadoop.hive.metastore.uris": "thrift://host:9083"}, tmp_path
    )
    assert DRIVER not in metastore
    assert metastore["spark.sql.catalogImplementation"] == "hive"
