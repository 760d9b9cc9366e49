"""Groups kept by running states, and groups evaluated at instants, against the full query.

Rows of ``--rows`` events in groups of a hundred rows (``k``), in order of arrival; the last
hundredth is new. Each kind of query is measured three ways: ``Q`` over all rows, ``QI`` with the
states before the window worked out from history, and ``QI + memory`` with the states at hand. What
adds to the memory is measured beside (``upkeep``).

``python -m benchmarks.aggregates [--rows 10000000] [--queries sums distinct …]``
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

from benchmarks.common import load, save
from benchmarks.figures._compare import report, with_ratios
from benchmarks.measure import Action, Answering, measure
from benchmarks.options import Options, main
from benchmarks.queries import instant
from tapestry.sql import Catalog, Column, Scan, Source, Window, rewrite, static_answer
from tapestry.sql.scan import KnownAnswers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ZERO = datetime(2026, 1, 1, tzinfo=timezone.utc)
GROUP = 100
"""Rows of a group, on average."""
FILES = 100
NEW = 0.01
ROW_ID = "struct(_metadata.file_path, _metadata.row_index)"


@dataclass(frozen=True)
class Grouped:
    """A query of groups, and the most that its increment may take of the full query's time."""

    name: str
    sql: str
    aim: float


QUERIES = (
    Grouped(
        "sums",
        "SELECT k, count(*) AS c, sum(v) AS s, avg(x) AS a FROM events GROUP BY k"
        " HAVING count(*) >= 100",
        0.20,
    ),
    Grouped("alert", "SELECT k FROM events GROUP BY k HAVING sum(v) >= 5000", 0.20),
    Grouped(
        "distinct",
        "SELECT k, count(DISTINCT x) AS d FROM events GROUP BY k HAVING count(DISTINCT x) >= 60",
        0.35,
    ),
    Grouped(
        "top3",
        "SELECT k, id, v, ts FROM (SELECT k, id, v, ts, row_number() OVER (PARTITION BY k ORDER BY"
        " v DESC, id) AS n FROM events) AS e WHERE n <= 3",
        0.25,
    ),
    Grouped(
        "instants",
        "SELECT k, max(v) AS m FROM events WHERE ts > now() - INTERVAL 30 DAYS GROUP BY k"
        " HAVING max(v) >= 99.9",
        0.5,
    ),
)


def run(spark: SparkSession, options: Options) -> None:
    """Increments of aggregates against their full queries."""
    events = _events(spark, options.rows)
    columns = tuple(Column(f.name, f.dataType.simpleString()) for f in spark.table(events).schema)
    catalog = Catalog({"events": Source("events", columns, "ts")})
    scans = {"events": Scan(events, "ts", ROW_ID)}
    last = ZERO + timedelta(seconds=options.rows)
    window = Window(last - timedelta(seconds=round(options.rows * NEW)), last)
    result: dict[str, Any] = {}
    for query in QUERIES:
        if options.queries and query.name not in options.queries:
            continue
        rewriting = rewrite(query.sql, catalog)
        assert window.tau is not None
        before = rewriting.incremental(Window(None, window.tau), scans)
        if not rewriting.keeps_states:  # every instant of 10 million rows takes an hour
            before = static_answer(query.sql, catalog, window.tau, scans)
        known = _kept(spark, f"known_{query.name}", before)
        full = query.sql.replace("FROM events", f"FROM {events} AS events")
        variants: dict[str, Action] = {
            "Q": Answering(spark, full.replace("now()", instant(last))),
            "QI": Answering(
                spark,
                rewriting.incremental(window, scans, few=True, known=KnownAnswers(known)),
            ),
        }
        if rewriting.keeps_states:
            states = rewriting.states(Window(None, window.tau), scans)
            memory = _kept(spark, f"memory_{query.name}", states)
            at_hand = KnownAnswers(known, states=memory)
            text = rewriting.incremental(window, scans, few=True, known=at_hand)
            variants["QI + memory"] = Answering(spark, text)
            variants["upkeep"] = Answering(
                spark, rewriting.states(window, scans, at_hand, few=True)
            )
        measured = with_ratios(measure(spark, variants, options.rounds, budget=options.budget))
        report(f"{options.rows} events", f"{query.name} ({rewriting.strategy})", measured)
        result[query.name] = {
            "sql": query.sql,
            "aim": query.aim,
            "strategy": rewriting.strategy,
            "variants": measured,
        }
    kept = load("aggregates")
    if kept is not None and kept["rows"] == options.rows:
        result = kept["queries"] | result
    save("aggregates", {"rows": options.rows, "queries": result})


def listed(result: dict[str, Any]) -> tuple[list[str], list[list[str]], str]:
    """Head, rows and a sentence for the page."""
    rows = []
    for query in QUERIES:
        found = result["queries"].get(query.name)
        if found is None:
            continue
        row = [f"`{query.sql.replace('|', '&#124;')}`", found["strategy"], f"{query.aim:.2f}"]
        row.append(f"{found['variants']['Q']['seconds']:.2f}")
        for variant in ("QI", "QI + memory", "upkeep"):
            one = found["variants"].get(variant)
            row.append("–" if one is None else f"{one['ratio']:.2f}")
        rows.append(row)
    head = ["query", "strategy", "target", "Q, s", "Q^I : Q", "with memory", "upkeep of it"]
    at = result["measured"]
    said = (
        f"{result['rows']:,} rows, {result['rows'] // GROUP:,} groups, 1 % new; {at['at'][:10]},"
        f" Spark {at['spark']}, {at['cores']} cores, load average {at['load_average']} (others were"
        f" at work), commit {at['commit']}."
    )
    return head, rows, said


def _kept(spark: SparkSession, name: str, sql: str) -> str:
    """What a query gives as a table, made once for this text."""
    table = f"bench.{name}_{hashlib.sha256(sql.encode()).hexdigest()[:12]}"
    if not spark.catalog.tableExists(table):
        spark.sql(sql).write.format("delta").saveAsTable(table)
    return table


def _events(spark: SparkSession, rows: int) -> str:
    """The events as a Delta table, made once: one a second, in order, groups in random order."""
    name = f"bench.events_{rows}"
    if not spark.catalog.tableExists(name):
        frame = spark.range(0, rows, 1, FILES).selectExpr(
            "id",
            f"CAST(pmod(xxhash64(id, 1), {max(1, rows // GROUP)}) AS INT) AS k",
            "CAST(pmod(xxhash64(id, 2), 100) AS INT) AS x",
            "CAST(pmod(xxhash64(id, 3), 10000) / 100 AS DECIMAL(10, 2)) AS v",
            "CONCAT('note ', hex(xxhash64(id, 4))) AS note",
            f"timestamp_seconds({int(ZERO.timestamp())} + id) AS ts",
        )
        frame.write.format("delta").saveAsTable(name)
    return name


if __name__ == "__main__":
    main(run)
