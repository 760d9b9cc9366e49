"""Figure 7: the cost of Q1 as a function of the window, from all of history to nothing new.

``python -m benchmarks.figures.tapestry_fig7 [--rows 10000000]``
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks import tables
from benchmarks.common import save
from benchmarks.figures._compare import compare
from benchmarks.options import Options, main
from benchmarks.queries import BY_NAME

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WINDOWS = (1.0, 0.75, 0.5, 0.25, 0.1, 0.05, 0.02, 0.01, 0.001, 0.0)


def run(spark: SparkSession, options: Options) -> None:
    """Figure 7: Q1 over windows of many sizes."""
    queries = (BY_NAME["Q1"],)
    real = tables.real(spark) if options.real else None
    if real is not None:
        save("fig7_real", compare(spark, real, queries, WINDOWS, options.rounds))
    if options.rows:
        data = tables.generated(spark, options.rows)
        measured = compare(spark, data, queries, WINDOWS, options.rounds, options.budget)
        save(f"fig7_generated_{options.rows}", measured)


if __name__ == "__main__":
    main(run)
