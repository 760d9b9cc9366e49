"""Time statements against each other and read Spark's own metrics of what they read.

Every variant is run twice to warm up, then all of them in turn, round after round, so that whatever
else the machine does falls on all alike; a time is the median over the rounds.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dbt.adapters.tapestry.delta_logs import DeltaLogs
from dbt.adapters.tapestry.measure_reads import amount, measured
from dbt.adapters.tapestry.overrides import Overrides, once
from dbt.adapters.tapestry.session import BESIDE
from tapestry.runs.engine.session import Capabilities

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass
class Reading:
    """What one execution read, from the metrics of its scans and tasks."""

    files: int = 0  # over all scans: a file that is scanned twice counts twice
    file_bytes: int = 0  # sizes of those files
    rows: int = 0  # rows that the scans gave
    shuffled: int = 0  # rows that were written to be joined, sorted or grouped elsewhere
    scans: list[dict[str, Any]] = field(default_factory=list)
    joins: list[str] = field(default_factory=list)


@dataclass
class Measured:
    """One variant: what each round took, the medians, and what the warm-up run read.

    ``cpu`` is processor time of Spark and this process: it tells what a variant costs where other
    programs compete for the machine.
    """

    seconds: float
    cpu: float
    rounds: list[float]
    cpu_rounds: list[float]
    answers: int | None
    reading: dict[str, Any]


Action = Callable[[], Any]
COLDER = 0.9
"""A round that takes less than this part of the one before: the process is still warming up."""


@dataclass(frozen=True)
class Answering:
    """Execute a SELECT to its last row, and throw the rows away; its text may be made each time."""

    spark: SparkSession
    sql: str | Callable[[], str]

    def __call__(self) -> None:
        self.run(self.spark.sql(self.text))

    @property
    def text(self) -> str:
        """The SELECT."""
        return self.sql if isinstance(self.sql, str) else self.sql()

    def count(self) -> int:
        """The same, and how many rows there were."""
        from pyspark.sql import Observation
        from pyspark.sql.functions import count, lit

        seen = Observation()
        self.run(self.spark.sql(self.text).observe(seen, count(lit(1)).alias("answers")))
        return int(seen.get["answers"])

    def run(self, frame: DataFrame) -> None:
        frame.write.format("noop").mode("overwrite").save()


@dataclass(frozen=True)
class PlainSession:
    """What layer 2 asks of an engine, here as in the adapter one of this process."""

    spark: SparkSession

    @property
    def can(self) -> Capabilities:
        """All that an embedded Spark offers and runs of these measurements use."""
        return Capabilities(
            frame=self.spark.sql,
            glance=DeltaLogs(self.spark).newest,
            meanwhile=BESIDE.submit,
            measured=partial(measured, self.spark),
            planned_once=self._planned_once,
            keeps_memory=lambda: True,
        )

    def run(self, sql: str) -> None:
        """Execute a statement."""
        self.spark.sql(sql).collect()

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Execute a query."""
        return [tuple(row) for row in self.spark.sql(sql).collect()]

    def _planned_once(self) -> AbstractContextManager[None]:
        """Spark does not plan a query again while that runs."""
        return Overrides(self.spark.conf).inside(once(self.spark.conf))


def statement(spark: SparkSession, sql: str | Callable[[], str]) -> Action:
    """Execute a statement that writes; its text may be made each time."""
    return lambda: spark.sql(sql if isinstance(sql, str) else sql()).collect()


def measure(
    spark: SparkSession,
    variants: Mapping[str, Action],
    rounds: int = 5,
    reset: Action | None = None,
    budget: float = 240.0,
) -> dict[str, dict[str, Any]]:
    """Warm up, then interleave; fewer rounds (never under 2) where they would take too long.

    It is warm when a round takes no longer a tenth less than the one before: Java goes on to
    compile what it sees to be used. ``reset`` runs before each execution and is not timed: it
    undoes what the last one wrote.
    """
    readings, answers = {}, {}
    for name, action in variants.items():
        if reset:
            reset()
        counting = action.count if isinstance(action, Answering) else action
        answers[name], readings[name] = observed(spark, counting)

    def in_turn() -> dict[str, tuple[float, float]]:
        taken = {}
        for name, action in variants.items():
            if reset:
                reset()
            taken[name] = timed(spark, action)
        return taken

    last, warming = float("inf"), 0.0
    while (spent := sum(pair[0] for pair in in_turn().values())) < COLDER * last:
        last, warming = spent, warming + spent
        if warming > budget / 4:
            break
    rounds = min(rounds, max(2, int(budget / max(spent, 0.001))))
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in variants}
    for _ in range(rounds):
        for name, pair in in_turn().items():
            taken[name].append(pair)
    return {
        name: summary([(*pair, readings[name]) for pair in pairs], answers[name])
        for name, pairs in taken.items()
    }


def summary(
    rounds: Sequence[tuple[float, float, Reading]], answers: int | None = None
) -> dict[str, Any]:
    """The medians of some executions; what they read is the first one's."""
    seconds, cpu = [one[0] for one in rounds], [one[1] for one in rounds]
    medians = [round(statistics.median(values), 4) for values in (seconds, cpu)]
    return asdict(Measured(*medians, seconds, cpu, answers, asdict(rounds[0][2])))


def timed_and_read(spark: SparkSession, action: Action) -> tuple[float, float, Reading]:
    """Seconds and processor seconds of one execution, and what it read."""
    pair: list[tuple[float, float]] = []
    _, reading = observed(spark, lambda: pair.append(timed(spark, action)))
    return (*pair[0], reading)


def timed(spark: SparkSession, action: Action) -> tuple[float, float]:
    """Seconds and processor seconds of one execution."""
    began, cpu = time.perf_counter(), cpu_seconds(spark)
    action()
    return round(time.perf_counter() - began, 4), round(cpu_seconds(spark) - cpu, 4)


def cpu_seconds(spark: SparkSession) -> float:
    """Processor time of Spark's JVM and of this process so far (Linux)."""
    process = spark.sparkContext._gateway.proc.pid
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    ticks = int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK") + time.process_time()


def observed(spark: SparkSession, action: Action) -> tuple[Any, Reading]:
    """Run once: what it counted, and the metrics of all scans of tables (not of Delta's log)."""
    store = spark._jsparkSession.sharedState().statusStore()  # type: ignore[operator]
    bus = spark.sparkContext._jsc.sc().listenerBus()
    bus.waitUntilEmpty()
    last = max((one.executionId() for one in _items(store.executionsList())), default=-1)
    result = action()
    bus.waitUntilEmpty()
    reading = Reading()
    for execution in _items(store.executionsList()):
        if execution.executionId() > last:
            _read(store, execution.executionId(), reading)
    return result if isinstance(result, int) else None, reading


def _read(store: Any, execution: int, reading: Reading) -> None:
    metrics = store.executionMetrics(execution)
    for node in _items(store.planGraph(execution).allNodes()):
        name = node.name()
        if name.endswith("Join") or name in ("CartesianProduct", "BroadcastNestedLoopJoin"):
            reading.joins.append(name)
        if name == "Exchange":
            values = _values(node, metrics)
            reading.shuffled += amount(values.get("shuffle records written", "0"))
        if not name.startswith("Scan parquet spark_catalog."):
            continue
        values = _values(node, metrics)
        files = amount(values.get("number of files read", "0"))
        size = amount(values.get("size of files read", "0 B"))
        rows = amount(values.get("number of output rows", "0"))
        table = name.rsplit(".", 1)[-1].strip()
        reading.scans.append({"table": table, "files": files, "bytes": size, "rows": rows})
        reading.files += files
        reading.file_bytes += size
        reading.rows += rows


def _values(node: Any, metrics: Any) -> dict[str, str]:
    found = {}
    for metric in _items(node.metrics()):
        value = metrics.get(metric.accumulatorId())
        if value.isDefined():
            found[metric.name()] = value.get()
    return found


def _items(sequence: Any) -> Iterator[Any]:
    for i in range(sequence.size()):
        yield sequence.apply(i)


def ratio(
    results: Mapping[str, Mapping[str, Any]], name: str, to: str, of: str = "rounds"
) -> float:
    """The median over the rounds of (time of one) / (time of the other) in the same round."""
    pairs = zip(results[name][of], results[to][of], strict=True)
    return statistics.median(one / max(other, 1e-6) for one, other in pairs)
