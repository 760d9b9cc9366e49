"""The tables of TPC-H on Delta, and their changes.

A change is TPC-H's two refresh functions and updates, a third of the share each: orders come in
with their lineitems, orders go out with theirs, and orders are changed with theirs. The refresh
functions touch no other table and no key; :func:`change_all` does, for who compares tables and
takes no times. Which rows is drawn by a hash, so that a change has the same rows wherever it is
made.
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


def load(spark: SparkSession, schema: str, scale: float, vectors: bool = False) -> None:
    """Make the tables anew, with a change feed and, when asked, deletion vectors.

    With them a DELETE marks rows in files that stay, and its change feed reads those files.
    """
    folder = generated(scale)
    spark.sql(f"DROP SCHEMA IF EXISTS {schema} CASCADE")
    spark.sql(f"CREATE SCHEMA {schema}")
    for table in TABLES:
        spark.sql(
            f"CREATE TABLE {schema}.{table} USING delta TBLPROPERTIES"
            " ('delta.enableChangeDataFeed' = 'true',"
            f" 'delta.enableDeletionVectors' = '{str(vectors).lower()}')"
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


UPDATES: Final = {
    "orders": (
        ("o_custkey = pmod(o_custkey * 7, 150) + 1", "o_orderkey"),
        ("o_orderdate = o_orderdate + INTERVAL 45 DAYS, o_comment = 'no requests'", "o_orderkey"),
        ("o_orderstatus = 'F', o_orderpriority = '5-LOW'", "o_orderkey"),
    ),
    "lineitem": (
        ("l_orderkey = l_orderkey + 32", "l_orderkey"),
        ("l_partkey = pmod(l_partkey * 3, 20000) + 1", "l_partkey"),
        ("l_suppkey = pmod(l_suppkey * 3, 1000) + 1", "l_partkey"),
        ("l_shipdate = l_shipdate - INTERVAL 1 YEAR, l_receiptdate = l_commitdate", "l_orderkey"),
        ("l_extendedprice = l_extendedprice * 2, l_returnflag = 'R'", "l_orderkey"),
        ("l_shipmode = 'MAIL', l_shipinstruct = 'DELIVER IN PERSON'", "l_orderkey"),
    ),
    "customer": (
        ("c_acctbal = -c_acctbal, c_phone = '13-000-000-0000'", "c_custkey"),
        ("c_nationkey = pmod(c_nationkey + 1, 25), c_mktsegment = 'BUILDING'", "c_custkey"),
        ("c_custkey = -c_custkey", "c_custkey"),
    ),
    "part": (
        ("p_brand = 'Brand#23', p_container = 'MED BOX'", "p_partkey"),
        ("p_type = 'PROMO BRUSHED BRASS', p_size = 15", "p_partkey"),
        ("p_name = 'forest green almond', p_mfgr = 'Manufacturer#9'", "p_partkey"),
    ),
    "supplier": (
        ("s_nationkey = pmod(s_nationkey + 3, 25)", "s_suppkey"),
        ("s_comment = 'Customer had Complaints', s_acctbal = 9999.99", "s_suppkey"),
        ("s_suppkey = -s_suppkey", "s_suppkey"),
    ),
    "partsupp": (
        ("ps_supplycost = ps_supplycost / 2", "ps_partkey"),
        ("ps_availqty = 1", "ps_partkey"),
        ("ps_suppkey = pmod(ps_suppkey + 1, 1000) + 1", "ps_partkey"),
    ),
}
"""By table: what its updates set, and the column by which rows of each are drawn."""
DELETED: Final = {
    "customer": "c_custkey",
    "lineitem": "l_orderkey",
    "orders": "o_orderkey",
    "part": "p_partkey",
    "partsupp": "ps_partkey",
    "supplier": "s_suppkey",
}
"""By table: the column by which rows are drawn that go, or stand twice from then on, each
without the rows of other tables that point to them."""
NATIONS: Final = (
    "n_regionkey = pmod(n_regionkey + 1, 5)",
    "n_name = 'GERMANY'",
    "n_name = concat(n_name, '2')",
    "n_nationkey = 100 + n_nationkey",
)


def change_all(spark: SparkSession, schema: str, share: float, number: int) -> None:
    """Change rows of every table but regions: keys, prices, dates; rows without their others.

    One nation is changed too, in another way each time, however small the share is.
    """
    count = max(1, round(_DRAWS * share / 3))
    for table, updates in UPDATES.items():
        for turn, (what, column) in enumerate(updates):
            drawn = _drawn(column, number, 3 + turn, count)
            spark.sql(f"UPDATE {schema}.{table} SET {what} WHERE {drawn}")
    for table, column in DELETED.items():
        twice, gone = (_drawn(column, number, turn, count) for turn in (10, 11))
        name = f"{schema}.{table}"
        spark.sql(f"INSERT INTO {name} SELECT * FROM {name} WHERE {twice}")
        spark.sql(f"DELETE FROM {name} WHERE {gone}")
    what = NATIONS[number % len(NATIONS)]
    spark.sql(f"UPDATE {schema}.nation SET {what} WHERE pmod(n_nationkey * 3, 25) = {number % 25}")


def _drawn(column: str, number: int, turn: int, count: int) -> str:
    """The condition that an order is drawn: those of one turn are none of another."""
    return (
        f"pmod(xxhash64({column}, {number}), {_DRAWS}) BETWEEN {turn * count}"
        f" AND {(turn + 1) * count - 1}"
    )
