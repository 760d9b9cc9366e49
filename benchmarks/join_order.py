"""What it costs to join a large table before a small one: FROM as written against the run's order.

``python -m benchmarks.join_order [--rows 3000000] [--rounds 5]``

New orders are joined to events, of which there are a hundred for each customer, and to a small
table that leaves one order in a hundred. FROM names the events first.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

from benchmarks.common import start_spark
from benchmarks.measure import Answering, measure, ratio
from benchmarks.options import Options, options_of, parser
from benchmarks.tables import detail
from tapestry.sql import Catalog, Column, Scan, Source, Window, rewrite

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BEGIN = datetime(2026, 1, 1, tzinfo=timezone.utc)
QUERY = (
    "select o.id, e.id as event from orders o, events e, shops s"
    " where e.customer = o.customer and s.id = o.shop and s.kind = 7"
)
PER_KEY = 100
"""Events of a customer, and new orders in the run: one in so many of all."""
TS = "timestamp'2026-01-01' + make_dt_interval(0, 0, 0, id)"
TABLES = {
    "orders": ("id", "id % {customers} as customer", "id % 1000 as shop", f"{TS} as ts"),
    "events": ("id", "hash(id) % {customers} as customer", f"{TS} as ts"),
    "shops": ("id", "id % 100 as kind"),
}


def run(spark: SparkSession, options: Options) -> None:
    """A bad order in FROM against the order that statistics give."""
    orders = options.rows // 3
    rows = {"orders": orders, "events": options.rows, "shops": 1000}
    catalog, scans = {}, {}
    for name, count in rows.items():
        table = f"bench.order_{name}_{options.rows}"
        if not spark.catalog.tableExists(table):
            listed = [one.format(customers=options.rows // PER_KEY) for one in TABLES[name]]
            made = spark.range(count).selectExpr(*listed)
            made.write.format("delta").saveAsTable(table)
        columns = tuple(
            Column(f.name, f.dataType.simpleString()) for f in spark.table(table).schema
        )
        arrival = None if name == "shops" else "ts"
        catalog[name] = Source(name, columns, arrival)
        size = int(detail(spark, table)["sizeInBytes"])
        scans[name] = Scan(table, arrival, "uuid()", size=size)
    end = BEGIN + timedelta(seconds=options.rows)
    window = Window(BEGIN + timedelta(seconds=orders - orders // PER_KEY), end)
    rewriting = rewrite(QUERY, Catalog(catalog), assume=["o.ts >= e.ts"])
    unsized = {name: replace(scan, size=0) for name, scan in scans.items()}
    texts = {
        "as written": rewriting.incremental(window, unsized, few=True),
        "statistics": rewriting.incremental(window, scans, few=True),
    }
    variants = {name: Answering(spark, text) for name, text in texts.items()}
    measured = measure(spark, variants, options.rounds, budget=options.budget)
    for name, result in measured.items():
        print(f"{name}: {result['seconds']:.2f} s, {result['answers']} answers")
    for of in ("rounds", "cpu_rounds"):
        print(f"ratio of {of}: {ratio(measured, 'statistics', 'as written', of):.2f}")


if __name__ == "__main__":
    wanted = parser(run.__doc__)
    wanted.set_defaults(rows=3_000_000, no_real=True)
    run(start_spark(), options_of(wanted.parse_args()))
