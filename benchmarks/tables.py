"""The messages as Delta tables, in the layouts that the figures compare."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.common import bench_root, real_messages
from benchmarks.queries import GENERATED, REAL, Lists, instant
from tapestry.instants import from_micros
from tapestry.sql import Column

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LAYOUTS = ("arrival", "shuffled", "zorder", "ordered")
"""In order of arrival; in no order; OPTIMIZE ZORDER BY (newsgroup, ts); sorted by both."""


@dataclass(frozen=True)
class Dataset:
    """One table of messages and what the figures need to know of it."""

    name: str
    relation: str  # with its version, as a run would pin it
    rows: int
    files: int
    file_bytes: int
    columns: tuple[Column, ...]
    first: datetime
    last: datetime
    lists: Lists

    @property
    def now(self) -> datetime:
        """The t of all runs: just when the last message is in."""
        return self.last

    def facts(self) -> dict[str, Any]:
        """What the page says of the data."""
        return {
            "name": self.name,
            "rows": self.rows,
            "files": self.files,
            "mib": round(self.file_bytes / 2**20, 1),
            "from": f"{self.first:%Y-%m-%d}",
            "to": f"{self.last:%Y-%m-%d}",
            "lists": [self.lists.one, self.lists.family],
        }


def generated_file(rows: int) -> Path:
    """About that many generated messages in order of arrival; made once."""
    from tapestry.demo.generator import write_messages

    path = bench_root() / f"messages_{rows}.parquet"
    if not path.exists():
        made = path.with_suffix(".making")
        write_messages(made, rows, seed=1992, order="arrival")
        made.rename(path)
    return path


def generated(spark: SparkSession, rows: int, layout: str = "arrival") -> Dataset:
    """Generated messages as a Delta table of 200 files (fewer where that would be tiny)."""
    name = f"bench.generated_{rows}_{layout}"
    files = max(20, min(200, rows // 50_000))
    if not spark.catalog.tableExists(name):
        frame = spark.read.parquet(str(generated_file(rows)))
        if layout == "arrival":
            # The file is in this order; cutting it costs a fraction of sorting it again.
            writer = frame.write.option("maxRecordsPerFile", -(-rows // files))
            writer.format("delta").saveAsTable(name)
        else:
            write(spark, frame, name, layout, files)
    return dataset(spark, name, GENERATED)


def real(spark: SparkSession, layout: str = "arrival") -> Dataset | None:
    """The real messages, about one file a month; None where they are not on this machine."""
    path = real_messages()
    if path is None:
        return None
    name = f"bench.real_{layout}"
    if not spark.catalog.tableExists(name):
        write(spark, spark.read.parquet(str(path)), name, layout, 87)
    return dataset(spark, name, REAL)


def write(spark: SparkSession, frame: DataFrame, name: str, layout: str, files: int) -> None:
    """A Delta table of about so many files, its rows in one of the layouts."""
    if layout == "arrival":
        frame = frame.repartitionByRange(files, "ts").sortWithinPartitions("ts")
    elif layout == "ordered":
        keys = ("newsgroup", "ts")
        frame = frame.repartitionByRange(files, *keys).sortWithinPartitions(*keys)
    else:
        frame = frame.selectExpr("*", "rand(1) AS _place").repartitionByRange(files, "_place")
        frame = frame.drop("_place")
    frame.write.format("delta").mode("overwrite").saveAsTable(name)
    if layout == "zorder":
        size = int(detail(spark, name)["sizeInBytes"] / files)
        spark.conf.set("spark.databricks.delta.optimize.maxFileSize", str(size))
        spark.conf.set("spark.databricks.delta.optimize.minFileSize", str(size))
        spark.sql(f"OPTIMIZE {name} ZORDER BY (newsgroup, ts)").collect()


def detail(spark: SparkSession, name: str) -> dict[str, Any]:
    """Delta's description of a table."""
    return spark.sql(f"DESCRIBE DETAIL {name}").collect()[0].asDict()


def dataset(spark: SparkSession, name: str, lists: Lists) -> Dataset:
    """A table, looked at once."""
    facts = detail(spark, name)
    version = spark.sql(f"DESCRIBE HISTORY {name} LIMIT 1").collect()[0]["version"]
    table = spark.table(name)
    columns = tuple(Column(f.name, f.dataType.simpleString()) for f in table.schema)
    summary = table.selectExpr(
        "count(*)", "unix_micros(min(ts))", "unix_micros(max(ts))"
    ).collect()[0]
    return Dataset(
        name.removeprefix("bench."),
        f"{name} VERSION AS OF {version}",
        summary[0],
        facts["numFiles"],
        facts["sizeInBytes"],
        columns,
        from_micros(summary[1]),
        from_micros(summary[2]),
        lists,
    )


def taus(spark: SparkSession, data: Dataset, shares: tuple[float, ...]) -> dict[float, datetime]:
    """For each share of new rows the τ after which that share of all rows arrived."""
    counts = {share: int(data.rows * share) for share in shares}
    found = {}
    for share, new in counts.items():
        if share >= 1:
            found[share] = data.first - timedelta(microseconds=1)
            continue
        if new == 0:
            found[share] = data.last
            continue
        quantile = spark.sql(
            f"SELECT unix_micros(percentile_approx(ts, {1 - share}, 100000)) FROM {data.relation}"
        ).collect()[0][0]
        found[share] = from_micros(quantile)
    return found


def new_rows(spark: SparkSession, data: Dataset, tau: datetime) -> int:
    """How many rows arrived after τ."""
    sql = f"SELECT count(*) FROM {data.relation} WHERE ts > {instant(tau)}"
    return int(spark.sql(sql).collect()[0][0])
