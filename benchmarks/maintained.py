"""What a maintained model costs beside dbt's own `table` of the same query: TPC-H, changing.

Each of the 22 queries is a `table` and a `maintained` model of one project, both run after every
change of orders and lineitems; a model's seconds are those that dbt reports, with its commit. The
`table` of the same change is the measure of the machine. With ``--check`` the two tables of each
query are compared as bags after each change, which reaches every table then and is not for times.

``python -m benchmarks.maintained [--scale 1] [--shares 0.001 0.01 0.1] [--queries q01 …]``
"""

from __future__ import annotations

import statistics
import sys
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

from benchmarks.common import save, start_spark
from benchmarks.dbt_project import DbtProject, rows_apart, with_config
from benchmarks.options import options_of, parser
from benchmarks.tpch_data import change, change_all, load
from benchmarks.tpch_queries import LIMITED, QUERIES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA, SOURCES = "bench_maintained", "tpch"
KINDS = ("table", "maintained")


class Project(DbtProject):
    """A project of every query as a table and as a maintained model."""

    def __init__(self, spark: SparkSession, config: dict[str, Any]) -> None:
        models = {}
        for query, text in QUERIES.items():
            for kind in KINDS:
                given = {"materialized": kind, **(config if kind == "maintained" else {})}
                if query in LIMITED:
                    given.pop("refresh", None)
                models[f"{query}_{kind}"] = with_config(text.format(s=SOURCES), **given)
        super().__init__(spark, SCHEMA, models)


def measure(
    spark: SparkSession, scale: float, shares: list[float], queries: list[str], check: bool,
    config: dict[str, Any], vectors: bool,
) -> dict[str, Any]:  # fmt: skip
    """By share and query: seconds of both models, their ratio, and how it was kept."""
    load(spark, SOURCES, scale, vectors)
    project = Project(spark, config)
    at = datetime.now(timezone.utc)
    models = [f"{query}_{kind}" for query in queries for kind in KINDS]
    project.run(at, models)
    result: dict[str, Any] = {}
    for number, share in enumerate(shares):
        change(spark, SOURCES, share, number)
        if check:
            change_all(spark, SOURCES, share, number)
        at += timedelta(minutes=1)
        ran, _ = project.run(at, models)
        rows = {}
        for query in queries:
            plain, kept = (ran[f"{query}_{kind}"] for kind in KINDS)
            table, own, told = plain.seconds, kept.seconds, kept.message
            tables = (f"{SCHEMA}.{query}_{kind}" for kind in KINDS)
            odd = rows_apart(spark, *tables) if check else None
            rows[query] = {"table": table, "maintained": own, "ratio": own / table, "how": told}
            said = f"{share:g} {query} {table:6.2f} {own:6.2f} {own / table:5.2f} {told}"
            print(said + (f" DIFFERS by {odd}" if odd else ""), flush=True)
        ratios = [one["ratio"] for one in rows.values()]
        middle = statistics.median(ratios)
        print(f"{share:g}: median {middle:.2f}, highest {max(ratios):.2f}", flush=True)
        result[f"{share:g}"] = {"median": middle, "highest": max(ratios), "queries": rows}
    return result


def main() -> None:
    """Run it from the command line."""
    options = parser(__doc__)
    options.add_argument("--scale", type=float, default=1)
    options.add_argument("--check", action="store_true", help="compare the tables")
    options.add_argument("--verify", default="off", choices=["off", "sample", "full"])
    options.add_argument("--refresh", default="auto", choices=["auto", "incremental"])
    options.add_argument("--vectors", action="store_true", help="sources with deletion vectors")
    options.set_defaults(shares=(0.001, 0.01, 0.1))
    arguments = options.parse_args([*sys.argv[1:], "--no-real"])
    asked = options_of(arguments)
    queries = list(asked.queries or QUERIES)
    config = {"verify": arguments.verify, "refresh": arguments.refresh}
    check, vectors = arguments.check, arguments.vectors
    result = measure(
        start_spark(), arguments.scale, list(asked.shares), queries, check, config, vectors
    )
    if not asked.queries:
        told = f"{arguments.verify}{'_vectors' if vectors else ''}"
        save(f"maintained_{arguments.scale:g}_{told}", result)


if __name__ == "__main__":
    main()
