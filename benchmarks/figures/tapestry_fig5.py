"""Figures 5 and 6: the cost of incremental queries against that of the query itself.

``python -m benchmarks.figures.tapestry_fig5 [--rows 10000000] [--rounds 5]``
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks import tables
from benchmarks.figures._compare import compare
from benchmarks.options import Options, main
from benchmarks.queries import BY_NAME

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAMES = ("Q1", "Q2", "Q3", "Q4", "Q5")


def run(spark: SparkSession, options: Options) -> None:
    """Figure 5: the queries as they stand, with nothing assumed."""
    measure_names(spark, options, "fig5", NAMES)


def measure_names(
    spark: SparkSession, options: Options, figure: str, names: tuple[str, ...]
) -> None:
    """Measure some queries on the real and on the generated messages, each kept on its own."""
    wanted = options.queries or names
    queries = tuple(BY_NAME[name] for name in names if name in wanted)
    arguments = (options.shares, options.rounds, options.budget)
    real = tables.real(spark) if options.real else None
    if real is not None:
        compare(spark, real, queries, *arguments, name=f"{figure}_real")
    if options.rows:
        data = tables.generated(spark, options.rows)
        compare(spark, data, queries, *arguments, name=f"{figure}_generated_{options.rows}")


if __name__ == "__main__":
    main(run)
