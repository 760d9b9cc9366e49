"""A warehouse of 49 models over three batches: each one maintained beside each one a table.

The same models stand in two projects over the same sources. The first batch builds all of it, the
two after it are a day's changes each; an invocation runs all models, and its wall time is what is
compared. With ``--check`` the tables of both projects are compared as bags after each batch.

``python -m benchmarks.warehouse [--orders 1000000] [--verify off] [--check]``
"""

from __future__ import annotations

import sys
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

from benchmarks.common import save, start_spark
from benchmarks.dbt_project import DbtProject, rows_apart, with_config
from benchmarks.options import options_of, parser
from benchmarks.warehouse_data import day, load
from benchmarks.warehouse_models import LAYERS, MODELS, text_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SOURCES, BATCHES = "bench_warehouse", 3
KINDS = ("table", "maintained")


def projects(spark: SparkSession, verify: str, threads: int) -> dict[str, DbtProject]:
    """Make a project of each kind."""
    found = {}
    for kind in KINDS:
        given = {"materialized": kind, **({"verify": verify} if kind == "maintained" else {})}
        texts = {name: with_config(text_of(name, SOURCES), **given) for name in MODELS}
        found[kind] = DbtProject(spark, f"{SOURCES}_{kind}", texts, threads=threads)
    return found


def differing(spark: SparkSession, made: dict[str, DbtProject]) -> dict[str, int]:
    """Models whose two tables differ, with the number of rows that one has more often."""
    counts = {
        name: rows_apart(spark, *(f"{made[kind].name}.{name}" for kind in KINDS)) for name in MODELS
    }
    return {name: count for name, count in counts.items() if count}


def measure(
    spark: SparkSession, orders: int, verify: str, threads: int, check: bool
) -> dict[str, Any]:
    """By batch: the wall time of both projects, their ratio, and how each model was kept."""
    load(spark, SOURCES, orders)
    made = projects(spark, verify, threads)
    at = datetime.now(timezone.utc)
    result: dict[str, Any] = {}
    for batch in range(1, BATCHES + 1):
        if batch > 1:
            day(spark, SOURCES, orders, batch - 1)
        at += timedelta(days=1)
        ran = {kind: one.run(at) for kind, one in made.items()}
        (tables, whole), (kept, wall) = (ran[kind] for kind in KINDS)
        odd = differing(spark, made) if check else {}
        models = {
            name: {
                "table": tables[name].seconds,
                "maintained": kept[name].seconds,
                "how": kept[name].message,
            }
            for name in MODELS
        }
        for layer, names in LAYERS.items():
            sums = [sum(models[name][kind] for name in names) for kind in KINDS]
            print(f"batch {batch} {layer:10} {sums[0]:7.1f} {sums[1]:7.1f}", flush=True)
        for name, one in models.items():
            print(f"  {name:22} {one['table']:6.2f} {one['maintained']:6.2f} {one['how']}")
        print(f"batch {batch}: {wall:.1f} s of {whole:.1f} s, {wall / whole:.2f}", flush=True)
        if odd:
            print(f"  DIFFER: {odd}", flush=True)
        result[f"batch {batch}"] = {
            "table": whole, "maintained": wall, "ratio": wall / whole, "models": models,
        }  # fmt: skip
    return result


def main() -> None:
    """Run it from the command line."""
    options = parser(__doc__)
    options.add_argument("--orders", type=int, default=1_000_000)
    options.add_argument("--check", action="store_true", help="compare the tables")
    options.add_argument("--verify", default="off", choices=["off", "sample", "full"])
    options.add_argument("--threads", type=int, default=1)
    arguments = options.parse_args([*sys.argv[1:], "--no-real"])
    options_of(arguments)
    given = (arguments.orders, arguments.verify, arguments.threads, arguments.check)
    save(f"warehouse_{arguments.verify}", measure(start_spark(), *given))


if __name__ == "__main__":
    main()
