"""Figure 8: the cost of Q3' against the size of the database, the new data staying the same.

The same messages, cut at the front: databases of a tenth to all of the rows, whose last rows, a
hundredth of the largest, are new.

``python -m benchmarks.figures.tapestry_fig8 [--rows 10000000]``
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks import tables
from benchmarks.common import save
from benchmarks.figures._compare import as_a_run, report, with_ratios
from benchmarks.measure import Action, Answering, measure
from benchmarks.options import Options, main
from benchmarks.queries import BY_NAME, GENERATED, instant
from tapestry.sql import Window

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SIZES = (0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
NEW = 0.01


def run(spark: SparkSession, options: Options) -> None:
    """Figure 8: Q1 and Q3' with fixed new data in databases of growing size."""
    if not options.rows:
        return
    whole = tables.generated(spark, options.rows)
    databases = {size: _cut(spark, whole, size) for size in SIZES}
    window = Window(tables.taus(spark, whole, (NEW,))[NEW], whole.now)
    variants: dict[str, Action] = {}
    for size, data in databases.items():
        for name in ("Q1", "Q3'"):
            query = BY_NAME[name]
            rewriting = query.rewriting(data.columns, data.lists)
            plain = query.text(data.relation, data.lists, data.now)
            sql = as_a_run(spark, rewriting, window, data)
            variants[f"{name} Q {size:g}"] = Answering(spark, plain)
            variants[f"{name} QI {size:g}"] = Answering(spark, sql)
    budget = 2 * options.budget
    measured = with_ratios(measure(spark, variants, options.rounds, budget=budget), "Q1 Q 1")
    report(whole.name, "", measured)
    result: dict[str, Any] = {
        "data": whole.facts(),
        "rows": {f"{size:g}": data.rows for size, data in databases.items()},
        "new_rows": tables.new_rows(spark, whole, window.tau) if window.tau else whole.rows,
        "variants": measured,
    }
    save(f"fig8_generated_{options.rows}", result)


def _cut(spark: SparkSession, whole: tables.Dataset, size: float) -> tables.Dataset:
    """The last part of the messages as a table of its own, its files as large as the whole's."""
    if size >= 1:
        return whole
    name = f"bench.generated_{whole.rows}_last_{round(100 * size)}"
    if not spark.catalog.tableExists(name):
        begin = tables.taus(spark, whole, (size,))[size]
        frame = spark.sql(f"SELECT * FROM {whole.relation} WHERE ts > {instant(begin)}")
        tables.write(spark, frame, name, "arrival", max(1, round(whole.files * size)))
    return tables.dataset(spark, name, GENERATED)


if __name__ == "__main__":
    main(run)
