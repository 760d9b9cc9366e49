"""The tables of TPC-H on Delta, and changes of orders and lineitems.

A change is TPC-H's two refresh functions and updates, a third of the share each: orders come in
with their lineitems, orders go out with theirs, and orders are changed with theirs. Which ones is
drawn by a hash, so that a change has the same rows wherever it is made.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.common import bench_root

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLES: Final = (
    "customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier",
)  # fmt: skip
_PARTS: Final = {"lineitem": 8, "orders": 4}
_DRAWS: Final = 30_000
"""A share is drawn in steps of one in so many."""


def generated(scale: float) -> Path:
    """The folder with the generated tables as Parquet; they are made once."""
    folder = bench_root() / f"tpch_{scale:g}"
    done = folder / "done"
    if not done.exists():
        command = [str(Path(sys.executable).with_name("tpchgen-cli")), "parquet", "--overwrite"]
        for table in TABLES:
            parts = _PARTS.get(table, 1)
            asked = [f"--scale-factor={scale:g}", f"--output-dir={folder}", f"--tables={table}"]
            subprocess.run([*command, *asked, f"--parts={parts}"], check=True)
        done.touch()
    return folder


def load(spark: SparkSession, schema: str, scale: float) -> None:
    """Make the tables anew, with change feed and deletion vectors."""
    folder = generated(scale)
    spark.sql(f"DROP SCHEMA IF EXISTS {schema} CASCADE")
    spark.sql(f"CREATE SCHEMA {schema}")
    for table in TABLES:
        spark.sql(
            f"CREATE TABLE {schema}.{table} USING delta TBLPROPERTIES"
            " ('delta.enableChangeDataFeed' = 'true', 'delta.enableDeletionVectors' = 'true')"
            f" AS SELECT * FROM parquet.`{folder / table}`"
        )


def change(spark: SparkSession, schema: str, share: float, number: int) -> None:
    """Change a share of the orders and their lineitems; ``number`` says which, 0 to 2."""
    count = round(_DRAWS * share / 3)
    free = 8 * (1 + number % 3)  # the generator leaves three of four blocks of eight keys free
    orders, items = f"{schema}.orders", f"{schema}.lineitem"
    for table, column in ((items, "l_orderkey"), (orders, "o_orderkey")):
        came, went = (_drawn(column, number, turn, count) for turn in range(2))
        moved = [
            f"{column} + {free} AS {column}" if one == column else one
            for one in spark.table(table).columns
        ]
        spark.sql(
            f"INSERT INTO {table} SELECT {', '.join(moved)} FROM {table}"
            f" WHERE {came} AND {column} % 32 < 8"
        )
        spark.sql(f"DELETE FROM {table} WHERE {went}")
    spark.sql(
        f"UPDATE {items} SET l_quantity = l_quantity + 1, l_discount = 0.05"
        f" WHERE {_drawn('l_orderkey', number, 2, count)}"
    )
    spark.sql(
        f"UPDATE {orders} SET o_totalprice = o_totalprice + 1, o_orderpriority = '1-URGENT'"
        f" WHERE {_drawn('o_orderkey', number, 2, count)}"
    )


def _drawn(column: str, number: int, turn: int, count: int) -> str:
    """The condition that an order is drawn: those of one turn are none of another."""
    return (
        f"pmod(xxhash64({column}, {number}), {_DRAWS}) BETWEEN {turn * count}"
        f" AND {(turn + 1) * count - 1}"
    )
