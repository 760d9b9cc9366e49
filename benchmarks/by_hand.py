"""A maintained model beside the MERGE that an expert writes by hand, and beside dbt's `table`.

Three models as warehouses have them, over TPC-H's orders and lineitems: one of groups, one of the
joined rows, one of orders with a condition on their lines. By hand the keys that changed are read
from the change feeds since the last version, their rows computed again, and merged; who writes it
has to know which tables change, what the keys are, and that rows go. Both tables are compared with
the `table` after each change.

``python -m benchmarks.by_hand [--scale 1] [--shares 0.001 0.01 0.1]``
"""

from __future__ import annotations

import statistics
import sys
import time
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any, Final

from benchmarks.common import save, start_spark
from benchmarks.dbt_project import DbtProject, rows_apart, with_config
from benchmarks.options import options_of, parser
from benchmarks.tpch_data import change, load

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA, SOURCES = "bench_by_hand", "tpch_by_hand"
KINDS: Final = ("table", "maintained", "merge")
TEXTS: Final = {
    "customers": "select o_custkey, count(*) as orders, sum(o_totalprice) as total,"
    " max(o_orderdate) as last_order from {orders} {among} group by o_custkey",
    "lines": "select l.l_orderkey, l.l_linenumber, o.o_custkey, o.o_orderdate, o.o_orderpriority,"
    " l.l_partkey, l.l_quantity, l.l_extendedprice * (1 - l.l_discount) as revenue"
    " from {lineitem} l join {orders} o on o.o_orderkey = l.l_orderkey {among}",
    "late": "select o.o_orderkey, o.o_orderdate, o.o_orderpriority from {orders} o"
    " where exists (select 1 from {lineitem} l where l.l_orderkey = o.o_orderkey"
    " and l.l_commitdate < l.l_receiptdate) {among}",
}
"""``{among}`` stands where the keys that changed are put in by hand."""
KEYS: Final = {
    "customers": ("o_custkey", "orders", "where o_custkey in (select k from changed)"),
    "lines": ("l_orderkey", "both", "where o.o_orderkey in (select k from changed)"),
    "late": ("o_orderkey", "both", "and o.o_orderkey in (select k from changed)"),
}
ROWS: Final = {
    "customers": ("o_custkey",), "lines": ("l_orderkey", "l_linenumber"), "late": ("o_orderkey",),
}  # fmt: skip
"""What tells the rows of each model apart."""


def version(spark: SparkSession, table: str) -> int:
    """The newest version of a source."""
    (newest,) = spark.sql(f"DESCRIBE HISTORY {SOURCES}.{table} LIMIT 1").collect()
    return int(newest["version"])


def merge(spark: SparkSession, model: str, since: dict[str, int]) -> float:
    """Bring a model's table up to date as one does by hand; the seconds that it took.

    The tables are read at a version: beside its feed Spark 4.1 takes a table without one for that.
    """
    began = time.perf_counter()
    key, of, among = KEYS[model]
    feeds = []
    for table, column in (("orders", "o_orderkey"), ("lineitem", "l_orderkey")):
        if of in (table, "both"):
            read = "o_custkey" if model == "customers" else column
            feeds.append(
                f"SELECT {read} AS k FROM table_changes('{SOURCES}.{table}', {since[table] + 1})"
            )
    at = {name: f"{SOURCES}.{name} VERSION AS OF {version(spark, name)}" for name in since}
    rows = TEXTS[model].format(**at, among=among)
    changed = f"changed AS (SELECT DISTINCT k FROM ({' UNION ALL '.join(feeds)}))"
    same = " AND ".join(f"t.{name} = n.{name}" for name in ROWS[model])
    spark.sql(
        f"MERGE INTO {SCHEMA}.{model}_merge AS t USING (WITH {changed}, new AS ({rows})"
        f" SELECT new.*, false AS gone FROM new"
        f" UNION ALL SELECT old.*, true FROM {SCHEMA}.{model}_merge AS old"
        f" WHERE old.{key} IN (SELECT k FROM changed) AND NOT EXISTS (SELECT 1 FROM new WHERE"
        f" {' AND '.join(f'new.{name} = old.{name}' for name in ROWS[model])})) AS n ON {same}"
        " WHEN MATCHED AND n.gone THEN DELETE WHEN MATCHED THEN UPDATE SET *"
        " WHEN NOT MATCHED AND NOT n.gone THEN INSERT *"
    )
    return time.perf_counter() - began


def differing(spark: SparkSession, model: str) -> dict[str, int]:
    """By kind: rows that its table or the `table` has more often than the other."""
    table = f"{SCHEMA}.{model}_table"
    counts = {kind: rows_apart(spark, table, f"{SCHEMA}.{model}_{kind}") for kind in KINDS[1:]}
    return {kind: count for kind, count in counts.items() if count}


def measure(spark: SparkSession, scale: float, shares: list[float]) -> dict[str, Any]:
    """By share and model: the seconds of the three ways."""
    load(spark, SOURCES, scale)
    plain = {name: f"{SOURCES}.{name}" for name in ("orders", "lineitem")}
    texts = {
        f"{model}_{kind}": with_config(
            text.format(**plain, among=""), materialized=kind,
            **({"verify": "off"} if kind == "maintained" else {}),
        )
        for model, text in TEXTS.items()
        for kind in KINDS[:2]
    }  # fmt: skip
    project = DbtProject(spark, SCHEMA, texts)
    at = datetime.now(timezone.utc)
    project.run(at)
    for model in TEXTS:
        spark.sql(
            f"CREATE TABLE {SCHEMA}.{model}_merge USING delta TBLPROPERTIES"
            " ('delta.enableDeletionVectors' = 'true')"
            f" AS SELECT * FROM {SCHEMA}.{model}_table"
        )
    result: dict[str, Any] = {}
    for number, share in enumerate(shares):
        since = {table: version(spark, table) for table in ("orders", "lineitem")}
        change(spark, SOURCES, share, number)
        at += timedelta(minutes=1)
        ran, _ = project.run(at)
        rows = {}
        for model in TEXTS:
            took = [ran[f"{model}_{kind}"].seconds for kind in KINDS[:2]]
            took.append(merge(spark, model, since))
            odd, told = differing(spark, model), ran[f"{model}_maintained"].message
            rows[model] = {**dict(zip(KINDS, took, strict=True)), "how": told, "differ": odd}
            said = " ".join(f"{one:7.2f}" for one in took)
            print(f"{share:g} {model:10} {said} {took[1] / took[0]:5.2f} of table", end=" ")
            print(f"{took[1] / took[2]:5.2f} of merge {told} {odd or ''}", flush=True)
        ratios = [one["maintained"] / one["table"] for one in rows.values()]
        result[f"{share:g}"] = {"median": statistics.median(ratios), "models": rows}
    return result


def main() -> None:
    """Run it from the command line."""
    options = parser(__doc__)
    options.add_argument("--scale", type=float, default=1)
    options.set_defaults(shares=(0.001, 0.01, 0.1))
    arguments = options.parse_args([*sys.argv[1:], "--no-real"])
    asked = options_of(arguments)
    save(
        f"by_hand_{arguments.scale:g}", measure(start_spark(), arguments.scale, list(asked.shares))
    )


if __name__ == "__main__":
    main()
