"""Commits on a local disk: one of several writers wins, whole, and no program is started for it."""

from __future__ import annotations

import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from dbt.adapters.tapestry import log_store
from dbt.adapters.tapestry.log_store import CLASS, SETTING, use_links


class Store:
    """The class through py4j."""

    def __init__(self, spark: SparkSession) -> None:
        self.jvm: Any = spark._jvm
        self.conf = spark.sparkContext._jsc.hadoopConfiguration()
        loader = self.jvm.java.lang.Thread.currentThread().getContextClassLoader()
        new = spark.sparkContext._gateway.new_array
        kinds, given = new(self.jvm.java.lang.Class, 1), new(self.jvm.java.lang.Object, 1)
        kinds[0], given[0] = self.conf.getClass(), self.conf
        self.store = loader.loadClass(CLASS).getConstructor(kinds).newInstance(given)

    def write(self, path: Path | str, lines: list[str], overwrite: bool = False) -> None:
        text = path if isinstance(path, str) else f"file:{path}"
        actions = self.jvm.java.util.ArrayList()
        for line in lines:
            actions.add(line)
        place = self.jvm.org.apache.hadoop.fs.Path(text)
        self.store.write(place, actions.iterator(), overwrite, self.conf)

    def hadoop(self, path: Path, lines: list[str]) -> None:
        """The same as Hadoop writes it, with a checksum beside the file."""
        disk = self.jvm.org.apache.hadoop.fs.FileSystem.get(self.conf)
        stream = disk.create(self.jvm.org.apache.hadoop.fs.Path(f"file:{path}"))
        stream.write("\n".join([*lines, ""]).encode())
        stream.close()

    def read(self, path: Path) -> list[str]:
        place = self.jvm.org.apache.hadoop.fs.Path(f"file:{path}")
        lines = self.store.read(place, self.conf)
        found = []
        while lines.hasNext():
            found.append(lines.next())
        return found


@pytest.fixture(scope="module")
def store(spark: SparkSession) -> Store:
    return Store(spark)


def test_of_writers_at_once_one_wins_whole(store: Store, tmp_path: Path) -> None:
    refused: set[str] = set()

    def commit(number: int, writer: int) -> bool:
        try:
            store.write(tmp_path / f"{number}.json", [f"{writer}", "ä" * 5_000, f"{writer}"])
        except Py4JJavaError as error:
            refused.add(error.java_exception.getClass().getName())
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        for number in range(30):
            won = list(pool.map(lambda writer, n=number: commit(n, writer), range(8)))
            assert sum(won) == 1
            winner = str(won.index(True))
            assert store.read(tmp_path / f"{number}.json") == [winner, "ä" * 5_000, winner]
    assert refused == {"java.nio.file.FileAlreadyExistsException"}
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(f"{n}.json" for n in range(30))


def test_an_overwrite_replaces_what_hadoop_wrote(store: Store, tmp_path: Path) -> None:
    file, checksum = tmp_path / "_last_checkpoint", tmp_path / "._last_checkpoint.crc"
    store.hadoop(file, ["old"])
    assert checksum.exists()
    store.write(file, ["new"], overwrite=True)
    assert store.read(file) == ["new"]  # a checksum of the old one would not let it be read
    assert not checksum.exists()


def test_a_commit_over_a_forgotten_checksum_is_read(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "1.json"
    store.hadoop(file, ["old"])
    file.unlink()
    store.write(file, ["new"])
    assert store.read(file) == ["new"]


def test_a_missing_folder_is_an_error(store: Store, tmp_path: Path) -> None:
    with pytest.raises(Py4JJavaError, match="NoSuchFileException"):
        store.write(tmp_path / "none" / "1.json", ["new"])
    assert not (tmp_path / "none").exists()


def test_other_places_are_left_to_hadoop(store: Store, tmp_path: Path) -> None:
    store.write(str(tmp_path / "1.json"), ["new"])  # no scheme
    assert store.read(tmp_path / "1.json") == ["new"]
    assert (tmp_path / ".1.json.crc").exists()


def test_delta_uses_it(spark: SparkSession, tmp_path: Path) -> None:
    spark.range(3).write.format("delta").save(str(tmp_path / "t"))
    spark.sql(f"INSERT INTO delta.`{tmp_path}/t` VALUES (7)")
    log = tmp_path / "t" / "_delta_log"
    assert (log / f"{1:020}.json").exists()
    assert not list(log.glob(".*.json.crc"))  # which Hadoop would have written
    assert spark.read.format("delta").load(str(tmp_path / "t")).count() == 4


class Context:
    """As much of a SparkContext as is asked for."""

    def __init__(self, settings: dict[str, str], jvm: Any = None) -> None:
        self._jvm = jvm or SimpleNamespace()
        self.settings = settings

    def getConf(self) -> Any:
        return SimpleNamespace(contains=lambda key: key in self.settings)


def test_a_log_store_of_the_profile_is_kept() -> None:
    context: Any = Context({SETTING: "io.delta.storage.HDFSLogStore"})
    assert use_links(context) is False


def test_without_the_class_spark_goes_on_as_it_would(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "LinkLogStore.java"
    source.write_text("no Java at all")
    monkeypatch.setattr(log_store, "_SOURCE", source)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    context: Any = Context({}, spark._jvm)
    assert use_links(context) is False
    assert not list(tmp_path.rglob("*.jar"))


def test_the_class_is_compiled_once(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    jvm: Any = spark._jvm
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    jar = log_store._jar(jvm, loader)
    with zipfile.ZipFile(jar) as archive:
        (made,) = archive.namelist()
        assert archive.read(made).startswith(b"\xca\xfe\xba\xbe")
    assert log_store._jar(None, None) == jar  # needs no compiler any more
    assert list(jar.parent.iterdir()) == [jar]
