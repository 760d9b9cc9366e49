"""What a maintained model costs beside dbt's own `table` of the same query: TPC-H, changing.

Each of the 22 queries is a `table` and a `maintained` model of one project, both run after every
change of orders and lineitems; a model's seconds are those that dbt reports, with its commit. The
`table` of the same change is the measure of the machine. With ``--check`` the two tables of each
query are compared as bags after each change, which is the test that they are the same.

``python -m benchmarks.maintained [--scale 1] [--shares 0.001 0.01 0.1] [--queries q01 …]``
"""

from __future__ import annotations

import shutil
import statistics
import sys
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import yaml

from benchmarks.common import bench_root, save, start_spark
from benchmarks.options import options_of, parser
from benchmarks.tpch_data import change, load
from benchmarks.tpch_queries import LIMITED, QUERIES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA, SOURCES = "bench_maintained", "tpch"
KINDS = ("table", "maintained")


class Project:
    """A project of every query as a table and as a maintained model."""

    def __init__(self, spark: SparkSession, config: dict[str, Any]) -> None:
        self.spark = spark
        self.folder = bench_root() / SCHEMA
        shutil.rmtree(self.folder, ignore_errors=True)
        spark.sql(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")
        spark.sql(f"CREATE SCHEMA {SCHEMA}")
        for name, content in self._files(config).items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, "utf-8")
        self.warm: Any = None

    def _files(self, config: dict[str, Any]) -> dict[str, str]:
        warehouse = {"spark.sql.warehouse.dir": str(bench_root() / "warehouse")}
        output = {"type": "tapestry", "method": "session", "schema": SCHEMA, "threads": 1}
        output["server_side_parameters"] = warehouse
        project = {
            "name": "tpch",
            "version": "1.0",
            "profile": "tpch",
            "flags": {"send_anonymous_usage_stats": False},
        }
        files = {
            "dbt_project.yml": yaml.safe_dump(project),
            "profiles.yml": yaml.safe_dump({"tpch": {"target": "it", "outputs": {"it": output}}}),
        }
        for query, text in QUERIES.items():
            for kind in KINDS:
                given = {"materialized": kind, **(config if kind == "maintained" else {})}
                if query in LIMITED:
                    given.pop("refresh", None)
                listed = ", ".join(f"{key}={value!r}" for key, value in given.items())
                body = f"{{{{ config({listed}) }}}}\n{text.strip().format(s=SOURCES)}\n"
                files[f"models/{query}_{kind}.sql"] = body
        return files

    def run(self, at: datetime, queries: list[str]) -> dict[str, tuple[float, str]]:
        """One invocation: of each model its seconds and what its line says."""
        from tapestry.schedule.warm import Warm

        if self.warm is None:
            folder = str(self.folder)
            self.warm = Warm(["--project-dir", folder, "--profiles-dir", folder, "--quiet"])
        models = [f"{query}_{kind}" for query in queries for kind in KINDS]
        found = {}
        for one in self.warm.run(models, at):
            if one.status != "ok":
                raise SystemExit(f"{one.model}: {one.message}")
            found[one.model] = one.seconds, one.message
        return found

    def differing(self, query: str) -> int:
        """Rows that one of the two tables of a query has more often than the other."""
        sides = [f"SELECT * FROM {SCHEMA}.{query}_{kind}" for kind in KINDS]
        both = [f"({a} EXCEPT ALL {b})" for a, b in (sides, sides[::-1])]
        ((count,),) = self.spark.sql(f"SELECT count(*) FROM ({' UNION ALL '.join(both)})").collect()
        return int(count)


def measure(
    spark: SparkSession, scale: float, shares: list[float], queries: list[str], check: bool,
    config: dict[str, Any],
) -> dict[str, Any]:  # fmt: skip
    """By share and query: seconds of both models, their ratio, and how it was kept."""
    load(spark, SOURCES, scale)
    project = Project(spark, config)
    at = datetime.now(timezone.utc)
    project.run(at, queries)
    result: dict[str, Any] = {}
    for number, share in enumerate(shares):
        change(spark, SOURCES, share, number)
        at += timedelta(minutes=1)
        ran = project.run(at, queries)
        rows = {}
        for query in queries:
            (table, _), (own, told) = (ran[f"{query}_{kind}"] for kind in KINDS)
            odd = project.differing(query) if check else None
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
    options.set_defaults(shares=(0.001, 0.01, 0.1))
    arguments = options.parse_args([*sys.argv[1:], "--no-real"])
    asked = options_of(arguments)
    queries = list(asked.queries or QUERIES)
    config = {"verify": arguments.verify, "refresh": arguments.refresh}
    result = measure(
        start_spark(), arguments.scale, list(asked.shares), queries, arguments.check, config
    )
    if not asked.queries:
        save(f"maintained_{arguments.scale:g}_{arguments.verify}", result)


if __name__ == "__main__":
    main()
