"""What an engine within the process would save of a small run: DuckDB over the pinned files.

61,000 generated messages, of which the last 1,000 are new, in one Delta table of two files; the
queries of ``benchmarks.small_runs``. Spark computes Q^I as a run does, with its statements for
little data; DuckDB computes the same rewriting over the parquet files of the same version, and
hands its rows to Spark as an Arrow table. Answers are compared as bags. Listing a version's files,
the commit and the bookkeeping stay Spark's in both.

``python -m benchmarks.in_process [--rounds 9] [--new 1000]``
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Mapping
from time import perf_counter
from typing import TYPE_CHECKING, Any

import duckdb

from benchmarks.common import save, start_spark
from benchmarks.options import options_of, parser
from benchmarks.small_runs import QUERIES, ROWS
from benchmarks.tables import generated_file
from dbt.adapters.tapestry.overrides import INTERPRETED, Overrides, once
from tapestry.instants import from_micros
from tapestry.sql import Catalog, Column, Scan, Source, Window, rewrite

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA, TABLE, WARMUP = "in_process", "in_process.messages", 3
ENGINES = ("spark", "duckdb", "duckdb, rows in Spark")


def made(spark: SparkSession, new: int) -> Window:
    """Make the table; return the window of the new rows."""
    spark.sql(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")
    spark.sql(f"CREATE SCHEMA {SCHEMA}")
    rows = spark.read.parquet(str(generated_file(ROWS + new + 10_000))).orderBy("ts")
    tau, t = (
        rows.limit(many).selectExpr("max(unix_micros(ts))").collect()[0][0]
        for many in (ROWS, ROWS + new)
    )
    for low, high in ((-1, tau), (tau, t)):
        part = rows.where(f"unix_micros(ts) > {low} AND unix_micros(ts) <= {high}")
        part.coalesce(1).write.format("delta").mode("append").saveAsTable(TABLE)
    return Window(from_micros(tau), from_micros(t))


def actions(spark: SparkSession, text: str, window: Window) -> dict[str, Callable[[], Any]]:
    """Return how each engine computes the new answers of a query."""
    table = spark.table(TABLE)
    columns = tuple(Column(f.name, f.dataType.simpleString()) for f in table.schema.fields)
    catalog = Catalog({"m": Source("m", columns, "ts")})
    rewriting = rewrite(text.format(m="m"), catalog)
    files = ", ".join(f"'{name.removeprefix('file://')}'" for name in table.inputFiles())
    size = spark.sql(f"DESCRIBE DETAIL {TABLE}").collect()[0]["sizeInBytes"]
    own = {
        "m": Scan(
            f"{TABLE} VERSION AS OF 1",
            "ts",
            "struct(_metadata.file_path, _metadata.row_index)",
            size=size,
            little=True,
        )
    }
    other = {
        "m": Scan(
            f"read_parquet([{files}], filename = true, file_row_number = true)",
            "ts",
            "struct(filename, file_row_number)",
            size=size,
            little=True,
        )
    }
    settings, database = Overrides(spark.conf), duckdb.connect()
    database.execute("SET TimeZone = 'UTC'")
    sql, beside = rewriting.incremental(window, own), rewriting.incremental(window, other, "duckdb")

    def by_spark() -> list[tuple[Any, ...]]:
        with settings.inside({**INTERPRETED, **once(spark.conf)}):
            return [tuple(row) for row in spark.sql(sql).collect()]

    def by_duckdb() -> list[tuple[Any, ...]]:
        return database.execute(beside).fetchall()

    def into_spark() -> int:
        rows = database.execute(beside).to_arrow_table()
        return int(spark.createDataFrame(rows).count())

    return dict(zip(ENGINES, (by_spark, by_duckdb, into_spark), strict=True))


def bag(rows: list[tuple[Any, ...]]) -> Counter[tuple[str, ...]]:
    """Return rows as a bag of texts, instants without their zones."""
    return Counter(tuple(str(one).removesuffix("+00:00") for one in row) for row in rows)


def measure(spark: SparkSession, rounds: int, new: int) -> dict[str, Any]:
    """Return, by query and engine, the median milliseconds, in turns; and whether both agree."""
    window = made(spark, new)
    found: dict[str, Any] = {}
    for query, text in QUERIES.items():
        engines = actions(spark, text, window)
        answers = {name: bag(engines[name]()) for name in ENGINES[:2]}
        times: Mapping[str, list[float]] = {name: [] for name in engines}
        for number in range(WARMUP + rounds):
            for name, action in engines.items():
                began = perf_counter()
                action()
                if number >= WARMUP:
                    times[name].append(1000 * (perf_counter() - began))
        found[query] = {name: round(statistics.median(took), 1) for name, took in times.items()}
        found[query] |= {
            "answers": answers["spark"].total(),
            "agree": answers["spark"] == answers["duckdb"],
        }
        print(query, found[query], flush=True)
    return found


def main() -> None:
    """Measure and keep it."""
    wanted = parser(__doc__)
    wanted.set_defaults(rounds=9)
    wanted.add_argument("--new", type=int, default=1_000)
    arguments = wanted.parse_args()
    options_of(arguments)
    spark = start_spark()
    save("in_process", {"queries": measure(spark, arguments.rounds, arguments.new)})


if __name__ == "__main__":
    main()
