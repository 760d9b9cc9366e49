"""What an embedded Spark read while a run was executed: its own counters, looked up afterwards."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from tapestry.runs.reading import Reading

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GROUP = "spark.jobGroup.id"
_FILES = re.compile(r"SQLPlanMetric\(number of files read,(\d+),")
WAIT_MS = 2_000
LATEST = 300
"""Of Spark's newest executions at most so many are looked through; a run makes a hundred."""


@contextmanager
def measured(spark: SparkSession) -> Iterator[Reading]:
    """Count the files and bytes that this thread's statements read; None on an error."""
    reading, group = Reading(), f"tapestry-{uuid4().hex}"
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
            try:
                _look(spark, group, newest, reading)
            except Exception:
                reading.files = reading.bytes = None


def _look(spark: SparkSession, group: str, newest: int, reading: Reading) -> None:
    core = spark.sparkContext._jsc.sc()
    core.listenerBus().waitUntilEmpty(WAIT_MS)
    jobs = set(spark.sparkContext.statusTracker().getJobIdsForGroup(group))
    store, stages = core.statusStore(), set()
    for job in jobs:
        ids = store.job(job).stageIds()
        stages |= {ids.apply(place) for place in range(ids.size())}
    reading.bytes = sum(_input_bytes(store, stage) for stage in stages)
    reading.files = sum(_files(spark, jobs, newest))


def _input_bytes(store: Any, stage: int) -> int:
    try:
        return int(store.lastStageAttempt(stage).inputBytes())
    except Exception:  # a stage that was skipped has no attempt
        return 0


def _newest(spark: SparkSession) -> int:
    """The id of Spark's newest execution; -1 where there is none, or nobody can say."""
    try:
        store = spark._jsparkSession.sharedState().statusStore()
        executions = store.executionsList(max(0, int(store.executionsCount()) - 1), 1)
        return -1 if executions.isEmpty() else int(executions.last().executionId())
    except Exception:
        return -1


def _files(spark: SparkSession, jobs: set[int], newest: int) -> Iterator[int]:
    """The files of every scan of every execution after ``newest`` that started one of the jobs."""
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
        yield from files_of(str(execution.metrics().toString()), values)


def files_of(metrics: str, values: str) -> Iterator[int]:
    """The files of each scan of an execution, from Scala's text of its metrics and their values."""
    for number in _FILES.findall(metrics):
        found = re.search(rf"(?:\(|, ){number} -> ([\d,]+)", values)
        if found is not None:
            yield int(found.group(1).replace(",", ""))
