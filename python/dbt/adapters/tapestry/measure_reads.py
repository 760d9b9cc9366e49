"""Measures what an embedded Spark reads during a run, from its own counters afterwards."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING
from uuid import uuid4

from tapestry.runs.engine.session import ReadVolume

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GROUP = "spark.jobGroup.id"
_VALUE = r"(?:total \([^\n]*\n)?\d[\d.,]*(?: [KMGT]?i?B\b)?"
_UNITS = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
WAIT_MS = 2_000
LATEST = 300
"""The maximum number of Spark's newest executions that are examined; a run makes a hundred."""


@contextmanager
def measured(spark: SparkSession) -> Iterator[ReadVolume]:
    """Yield the files and bytes that this thread reads, to be looked up; None on an error."""
    reading, group = ReadVolume(), f"tapestry-{uuid4().hex}"
    context = getattr(spark, "sparkContext", None)
    before = context.getLocalProperty(GROUP) if context is not None else None
    if context is not None:
        context.setLocalProperty(GROUP, group)
    newest = -1 if context is None else _newest(spark)
    try:
        yield reading
    finally:
        if context is not None:
            context.setLocalProperty(GROUP, before)
            reading.look = partial(_look, spark, group, newest, reading)


def _look(spark: SparkSession, group: str, newest: int, reading: ReadVolume) -> None:
    """Read Spark's counters, which are written a moment after the statements."""
    files = size = 0
    try:
        spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty(WAIT_MS)
        jobs = set(spark.sparkContext.statusTracker().getJobIdsForGroup(group))
        for metrics, values in _executions(spark, jobs, newest):
            files += sum(files_of(metrics, values))
            size += sum(sizes_of(metrics, values))
    except Exception:
        return
    reading.files, reading.bytes = files, size


def _newest(spark: SparkSession) -> int:
    """Return the id of Spark's newest execution; -1 where there is none, or it is unknown."""
    try:
        store = spark._jsparkSession.sharedState().statusStore()
        executions = store.executionsList(max(0, int(store.executionsCount()) - 1), 1)
        return -1 if executions.isEmpty() else int(executions.last().executionId())
    except Exception:
        return -1


def _executions(spark: SparkSession, jobs: set[int], newest: int) -> Iterator[tuple[str, str]]:
    """Yield metrics and their values of each execution after ``newest`` with such a job."""
    store = spark._jsparkSession.sharedState().statusStore()
    count = int(store.executionsCount())
    executions = store.executionsList(max(0, count - LATEST), LATEST)
    for place in reversed(range(executions.size())):
        execution = executions.apply(place)
        if int(execution.executionId()) <= newest:
            return
        # Answers as text: each job and each metric as an object would be calls into the JVM.
        if jobs.isdisjoint(map(int, re.findall(r"(\d+) ->", execution.jobs().toString()))):
            continue
        values = str(store.executionMetrics(execution.executionId()).toString())
        yield str(execution.metrics().toString()), values


def files_of(metrics: str, values: str) -> Iterator[int]:
    """Yield the files of each scan of an execution, from Scala's text of metrics and values."""
    return _values_of("number of files read", metrics, values)


def sizes_of(metrics: str, values: str) -> Iterator[int]:
    """Yield the sizes of those files in bytes, as exactly as Spark gives them (26.9 MiB).

    The counters of tasks would include cached data, at its size in memory.
    """
    return _values_of("size of files read", metrics, values)


def _values_of(metric: str, metrics: str, values: str) -> Iterator[int]:
    for number in re.findall(rf"SQLPlanMetric\({metric},(\d+),", metrics):
        found = re.search(rf"(?:\(|, ){number} -> ({_VALUE})", values)
        if found is not None:
            yield amount(found.group(1))


def amount(text: str) -> int:
    """Return Spark's text of a metric as a number: ``15,473``, or a total above details.

    >>> amount("15,473"), amount("1.5 KiB"), amount("total (min, med, max)\\n2.0 MiB (1 …)")
    (15473, 1536, 2097152)
    """
    parts = text.split("\n")[-1].replace(",", "").split()
    unit = _UNITS.get(parts[1], 1) if len(parts) > 1 else 1
    return round(float(parts[0]) * unit)
