"""The cores of a cluster that a Spark application has, and the wait for them.

A standalone cluster gives an application all cores that are free, for as long as it lives; the next
one gets none, and its statements wait endlessly without a message.
"""

from __future__ import annotations

import os
import re
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dbt.adapters.events.logging import AdapterLogger

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

logger = AdapterLogger("Tapestry")

MOST_CORES = "16"
"""The cores that one application gets of a standalone cluster, unless the profile sets them."""
PATIENCE, AGAIN = 10.0, 60.0
"""Seconds until the wait for cores is told, and told again."""
SMALL_SNAPSHOTS = {"spark.databricks.delta.snapshotPartitions": "1"}
"""Delta's 50 parts for the list of a table's files are for millions of files."""
ASKS_CORES = "EXPLAIN SELECT id FROM range(1)"
_FEWEST, _MOST = 2, 200
_SHUFFLE = "spark.sql.shuffle.partitions"
_SPLITS = re.compile(r"\bsplits=(\d+)")


def on_a_cluster(master: str | None) -> bool:
    """Return whether other processes execute tasks: false for one process, and for a client."""
    return bool(master) and not str(master).startswith(("local[", "sc://")) and master != "local"


def use_own_python(master: str | None) -> None:
    """Let functions in Python run in this environment, whatever `python3` the shell would find.

    PYSPARK_PYTHON has precedence; on a cluster the workers have an environment of their own.
    """
    if not on_a_cluster(master):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)


def await_workers(context: SparkContext) -> None:
    """Wait some seconds for the first worker; go on without it, and warn until there is one."""
    if not on_a_cluster(context.master) or _within(PATIENCE, context):
        return
    threading.Thread(target=_tell, args=(context,), name="tapestry-workers", daemon=True).start()


def sizes_for(cores: int) -> dict[str, str]:
    """Return a session's settings for so many cores; no answer depends on them.

    Spark's own 200 parts for each exchange of rows, whatever they are, are 200 tasks of some
    milliseconds each. Where it plans again while a query runs (adaptive execution), it puts small
    parts together, so that there it may begin with as many as large tables want.

    >>> sizes_for(1), sizes_for(64)["spark.sql.shuffle.partitions"]
    ({'spark.sql.shuffle.partitions': '2'}, '64')
    """
    return {_SHUFFLE: str(max(_FEWEST, min(_MOST, cores)))}


def cores_told(rows: Iterable[Sequence[Any]]) -> int | None:
    """Return the cores of a remote Spark, by the splits of a range in its plan (`ASKS_CORES`).

    >>> cores_told([("== Physical Plan ==\\n*(1) Range (0, 1, step=1, splits=8)",)])
    8
    """
    found = _SPLITS.search("\n".join(str(row[0]) for row in rows))
    return int(found[1]) if found else None


def sizes_there(
    found: Mapping[str, str], left_alone: Collection[str], explained: Callable[[], Iterable[Any]]
) -> dict[str, str]:
    """Return the sizes for a server's session; none where ``found`` has them set."""
    if _SHUFFLE in found or _SHUFFLE in left_alone:
        return {}
    cores = cores_told(explained())
    return {} if cores is None else sizes_for(cores)


def sizes_here(spark: SparkSession, given: Mapping[str, Any]) -> dict[str, str]:
    """Return the sizes for a session over this process's driver; none in a single process."""
    context = spark.sparkContext
    if _SHUFFLE in given or not on_a_cluster(context.master):
        return {}
    return sizes_for(cores_of(context))


def cores_of(context: SparkContext) -> int:
    """Return the application's cores; as many as it asks for, while it has none."""
    java: Any = context._jsc
    if _executors(context) == 0:
        return int(java.sc().conf().get("spark.cores.max", MOST_CORES))
    return int(java.sc().defaultParallelism())


def _within(seconds: float, context: SparkContext) -> bool:
    until = time.monotonic() + seconds
    while _executors(context) == 0:
        if time.monotonic() > until:
            return False
        time.sleep(0.1)
    return True


def _executors(context: SparkContext) -> int:
    """Return the number of executors; Spark counts the driver, too."""
    java: Any = context._jsc
    return int(java.sc().getExecutorMemoryStatus().size()) - 1


def _tell(context: SparkContext) -> None:
    try:
        while True:
            logger.warning(
                f"No worker of {context.master} has cores or memory to spare: this run waits."
                " Another application may hold them all. Limit each of them to a share:"
                " spark.cores.max, spark.executor.memory under server_side_parameters"
            )
            if _within(AGAIN, context):
                logger.info(f"Workers of {context.master} have begun")
                return
    except Exception as error:  # Spark has ended meanwhile
        logger.debug(f"nobody waits for workers any more: {error}")
