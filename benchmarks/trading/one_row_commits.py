"""Commits that update one row each, written into a table's log as a writer without Spark would.

A thousand UPDATEs by Spark take some ten minutes. Each row of the table lies in a file of its own,
so that a commit removes one file, adds another, and has a change file with both images of the row.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = pa.schema([("symbol", pa.string()), ("price", pa.decimal128(10, 3))])
APART = 0.001
"""Seconds between two commits, at least."""


@dataclass
class OneRowCommits:
    """A table (symbol, price) with a change feed, and who writes to it."""

    spark: SparkSession
    table: str
    folder: Path
    version: int = 0
    files: dict[str, tuple[str, int, Decimal]] = field(default_factory=dict)
    last: float = 0.0

    @classmethod
    def made(
        cls, spark: SparkSession, table: str, rows: list[tuple[str, Decimal]]
    ) -> OneRowCommits:
        """A new table with a file for each row."""
        spark.sql(
            f"CREATE TABLE {table} (symbol STRING, price DECIMAL(10, 3)) USING delta"
            " TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')"
        )
        place = spark.sql(f"DESCRIBE DETAIL {table}").first()["location"]  # type: ignore[index]
        found = cls(spark, table, Path(str(place).removeprefix("file:")))
        actions = [{"add": found._added(symbol, price)} for symbol, price in rows]
        found._commit("WRITE", actions)
        return found

    def update(self, symbol: str, price: Decimal) -> None:
        """One commit: a stock has another price."""
        path, size, old = self.files[symbol]
        removed = {"path": path, "deletionTimestamp": self._now(), "dataChange": True,
                   "extendedFileMetadata": True, "partitionValues": {}, "size": size}  # fmt: skip
        images = {
            "symbol": [symbol, symbol],
            "price": [old, price],
            "_change_type": ["update_preimage", "update_postimage"],
        }
        changes = pa.table(images, schema=COLUMNS.append(pa.field("_change_type", pa.string())))
        name = f"_change_data/cdc-{self.version:05}.parquet"
        cdc = {"path": name, "partitionValues": {}, "size": self._written(name, changes)}
        actions: list[dict[str, Any]] = [{"remove": removed}, {"add": self._added(symbol, price)}]
        self._commit("UPDATE", [*actions, {"cdc": {**cdc, "dataChange": False}}])

    def checkpoint(self) -> None:
        """Sum the log up, as a writer does now and then."""
        log = self.spark._jvm.org.apache.spark.sql.delta.DeltaLog  # type: ignore[union-attr]
        log.forTable(self.spark._jsparkSession, str(self.folder)).checkpoint()

    def _added(self, symbol: str, price: Decimal) -> dict[str, Any]:
        name = f"part-{self.version:05}-{symbol}.parquet"
        size = self._written(name, pa.table({"symbol": [symbol], "price": [price]}, schema=COLUMNS))
        self.files[symbol] = (name, size, price)
        return {"path": name, "partitionValues": {}, "size": size,
                "modificationTime": self._now(), "dataChange": True,
                "stats": '{"numRecords":1}'}  # fmt: skip

    def _written(self, name: str, rows: pa.Table) -> int:
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        pq.write_table(rows, path)
        return path.stat().st_size

    def _commit(self, operation: str, actions: list[dict[str, Any]]) -> None:
        self.version += 1
        self.last = max(self.last + APART, time.time())
        info = {"timestamp": self._now(), "operation": operation, "operationParameters": {},
                "isBlindAppend": False}  # fmt: skip
        path = self.folder / "_delta_log" / f"{self.version:020}.json"
        lines = [json.dumps(one) for one in ({"commitInfo": info}, *actions)]
        path.write_text("\n".join(lines) + "\n")
        os.utime(path, (self.last, self.last))

    def _now(self) -> int:
        return int(self.last * 1000)
