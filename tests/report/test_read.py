"""The record is read in two ways, from Delta files and by a session: both say the same."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from tests.report.made_up import HOSTILE, NOW, checks, fail, runs

from tapestry.report import read
from tapestry.report.read import DeltaFolder, SessionTables, read_record, tables_at_hand
from tapestry.report.record import Waiting
from tapestry.runs.engine.session import Session

deltalake = pytest.importorskip("deltalake", reason="the package deltalake is not installed")


class DuckSession(Session):
    """A session on DuckDB that describes tables as Spark does."""

    def __init__(self, tables: dict[str, pa.Table]) -> None:
        self.database = duckdb.connect()
        self.database.execute("SET TimeZone = 'UTC'")
        for name, table in tables.items():
            self.database.register(f"arrow_{name}", table)
            self.database.execute(f"CREATE TABLE {name} AS FROM arrow_{name}")

    def run(self, sql: str) -> None:
        self.database.execute(sql)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        sql = sql.replace("`s`.", "").replace("`", '"').replace("DESCRIBE TABLE", "DESCRIBE")
        sql = sql.replace("unix_micros(", "epoch_us(")
        try:
            rows = self.database.execute(sql).fetchall()
        except duckdb.CatalogException as error:
            raise RuntimeError("[TABLE_OR_VIEW_NOT_FOUND]") from error
        partitions = [("", "", None), ("# Partitioning", "", None)]
        return [*rows, *partitions] if sql.startswith("DESCRIBE") else rows


def _rows() -> tuple[list[dict], list[dict]]:
    made = runs("s.a", 12) + fail(runs(f"s.{HOSTILE}", 7), 2, "broke")
    made[0]["sql"], made[11]["sql"] = "the first", "the newest"
    checked = checks(made, "enough", "enough", details='{"message": "long"}')
    checked[-1]["status"] = "fail"
    return made, checked


def _table(rows: list[dict]) -> pa.Table:
    table = pa.Table.from_pylist(rows)
    for place, field in enumerate(table.schema):
        if pa.types.is_null(field.type):
            kind = pa.timestamp("us", "UTC") if field.name == "horizon" else pa.string()
            table = table.set_column(place, field.name, table[field.name].cast(kind))
    return table


def _folder(tmp_path: Path, tables: dict[str, pa.Table]) -> Path:
    folder = tmp_path / "warehouse/s.db"
    for name, table in tables.items():
        deltalake.write_deltalake(str(folder / name), table)
    return folder


def test_both_ways_say_the_same(tmp_path: Path) -> None:
    made, checked = _rows()
    tables = {"tapestry_runs": _table(made), "tapestry_checks": _table(checked)}
    by_files = read_record(DeltaFolder(_folder(tmp_path, tables)))
    by_session = read_record(SessionTables(DuckSession(tables), "s"))
    assert by_files == by_session
    assert len(by_files.runs) == 19
    assert by_files.runs[0].ended_at is not None
    assert by_files.runs[0].ended_at.utcoffset() == timedelta(0)
    assert by_files.sql["s.a"] == "the newest"
    assert set(by_files.sql) == {"s.a", f"s.{HOSTILE}"}
    told = [check for check in by_files.checks if check.details]
    assert [check.status for check in told] == ["fail"], "details of what held are not read"
    failed = [run for run in by_files.runs if run.failed]
    assert [run.message for run in failed] == ["broke", "broke"]


@pytest.mark.parametrize("dropped", [["sql"], ["rejected_rows", "verification", "message"]])
def test_an_older_table(tmp_path: Path, dropped: list[str]) -> None:
    made, _ = _rows()
    tables = {"tapestry_runs": _table(made).drop_columns(dropped)}
    for source in (
        DeltaFolder(_folder(tmp_path, tables)),
        SessionTables(DuckSession(tables), "s"),
    ):
        record = read_record(source)
        assert len(record.runs) == 19
        assert record.checks == ()
        assert bool(record.sql) == ("sql" not in dropped)


def test_no_tables_at_all(tmp_path: Path) -> None:
    (tmp_path / "s.db").mkdir()
    assert read_record(DeltaFolder(tmp_path / "s.db")).runs == ()
    assert read_record(SessionTables(DuckSession({}), "s")).runs == ()


def test_another_error_is_not_an_empty_table() -> None:
    class Broken(DuckSession):
        def rows(self, sql: str) -> list[tuple[Any, ...]]:
            raise RuntimeError("connection refused")

    with pytest.raises(RuntimeError, match="refused"):
        read_record(SessionTables(Broken({}), "s"))


def test_of_very_many_runs_the_newest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, _ = _rows()
    monkeypatch.setattr(read, "MOST_RUNS", 5)
    record = read_record(DeltaFolder(_folder(tmp_path, {"tapestry_runs": _table(made)})))
    assert record.limited
    newest = sorted(row["ended_at"] for row in made)[-5:]
    assert [run.ended_at for run in record.runs] == newest


def test_when_the_files_are_at_hand(tmp_path: Path) -> None:
    folder = _folder(tmp_path, {"tapestry_runs": _table(_rows()[0])})
    found = tables_at_hand({}, "S", tmp_path)
    assert found is not None
    assert found.folder == folder
    elsewhere = {"spark.sql.warehouse.dir": f"file:{tmp_path / 'warehouse'}"}
    assert tables_at_hand(elsewhere, "s", Path("/nowhere")) is not None
    assert tables_at_hand({}, "other", tmp_path) is None
    assert tables_at_hand({}, "s", tmp_path, "spark://host:7077") is None
    assert tables_at_hand({"spark.sql.warehouse.dir": "s3a://bucket/w"}, "s", tmp_path) is None
    catalog = {"spark.hadoop.javax.jdo.option.ConnectionURL": "jdbc:postgresql://db"}
    assert tables_at_hand(catalog, "s", tmp_path) is None


def test_sinks_that_lack_something(tmp_path: Path) -> None:
    def line(sink: str, m: int, event: str, minute: int) -> dict[str, Any]:
        noted = NOW - timedelta(minutes=60 - minute)
        return {"model": "s.a", "sink": sink, "m": m, "event": event, "noted_at": noted}

    rows = [
        *(line("new", 0, "begun", 1), line("up", 0, "begun", 1), line("down", 0, "begun", 1)),
        *(line("up", 1, "claimed", 2), line("up", 1, "done", 2)),
        *(line("down", 9, "claimed", 2), line("down", 9, "done", 2)),
        *(line("down", 10, "claimed", 3), line("down", 10, "parts", 4)),
    ]
    tables = {"tapestry_deliveries": pa.Table.from_pylist(rows)}
    for source in (
        DeltaFolder(_folder(tmp_path, tables)),
        SessionTables(DuckSession(tables), "s"),
    ):
        since = NOW - timedelta(minutes=57)
        assert read_record(source).waiting == (Waiting("s.a", "down", since),)
