"""Figure 9: what the order of the rows in the table's files does; the paper's composite index.

Delta has no index; what stands for one is which rows lie together in a file: in order of arrival,
in no order, OPTIMIZE ZORDER BY (newsgroup, ts), or sorted by both.

``python -m benchmarks.figures.tapestry_fig9 [--rows 10000000]``
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks import tables
from benchmarks.common import save
from benchmarks.figures._compare import compare
from benchmarks.options import Options, main
from benchmarks.queries import BY_NAME

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAMES = ("Q1", "Q3'")
WINDOWS = (0.1, 0.01)


def run(spark: SparkSession, options: Options) -> None:
    """Figure 9: Q1 and Q3' over four layouts of one table."""
    if not options.rows:
        return
    queries = tuple(BY_NAME[name] for name in NAMES)
    layouts: dict[str, Any] = {}
    for layout in tables.LAYOUTS:
        data = tables.generated(spark, options.rows, layout)
        layouts[layout] = compare(spark, data, queries, WINDOWS, options.rounds, options.budget / 2)
    save(f"fig9_generated_{options.rows}", {"layouts": layouts})


if __name__ == "__main__":
    main(run)
