"""Figure 6: the same with a single timestamp comparison, because replies are known to be later.

``python -m benchmarks.figures.tapestry_fig6 [--rows 10000000] [--rounds 5]``
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.figures.tapestry_fig5 import measure_names
from benchmarks.options import Options, main

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAMES = ("Q3'", "Q4'", "Q5'")


def run(spark: SparkSession, options: Options) -> None:
    """Figure 6: what ``assume`` saves."""
    measure_names(spark, options, "fig6", NAMES)


if __name__ == "__main__":
    main(run)
