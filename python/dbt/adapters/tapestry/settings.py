"""The embedded Spark's settings at its start, unless the profile gives others."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from dbt.adapters.tapestry.jars import jar_settings
from dbt.adapters.tapestry.measure_reads import LATEST
from dbt.adapters.tapestry.warehouse import warehouse_settings
from dbt.adapters.tapestry.workers import MOST_CORES
from tapestry.runs.sources.too_old import READS_OLD

SESSION_DEFAULTS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.sources.default": "delta",
    "spark.databricks.delta.snapshotPartitions": "1",
    # dbt-spark's own choice, so that the same project means the same on Spark 3 and 4.
    "spark.sql.ansi.enabled": "false",
    **READS_OLD,
}
"""Set again in every new session: Spark hands them down only from the settings it started with."""

FILE_MANAGER = (
    "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
)
"""Spark's other way of writing a small file at once: it starts fewer programs on a local disk."""

_ONE_PROCESS = re.compile(r"local(\[[^\]]*\])?")
"""Masters for which Spark is one process."""

_COMBINED = {
    "spark.driver.extraJavaOptions": " ",
    "spark.sql.extensions": ",",
    "spark.jars": ",",
    "spark.jars.packages": ",",
}
"""Lists: what the profile gives is added to what the adapter needs."""


def start_settings(given: Mapping[str, str], root: Path, master: str | None) -> dict[str, str]:
    """Return all settings for a new Spark: the defaults, overridden or extended by `given`."""
    settings = {**_general(master), **_delta(), **SESSION_DEFAULTS}
    if settings["spark.master"].startswith("local") and "spark.driver.memory" not in given:
        # Every join, sort and aggregation takes a page at least. Spark chooses 64 MiB here: a few
        # hundred statements over kilobytes fill gigabytes, and the garbage collector never stops.
        settings["spark.buffer.pageSize"] = "512k"
    settings["spark.driver.extraJavaOptions"] = " ".join(
        [
            # The catalog's server is for this machine's processes alone.
            "-Dh2.bindAddress=127.0.0.1",
            # Without its native library Hadoop starts a `chmod` for every file of rows; this is the
            # way of starting one that costs a large process least.
            "-Djdk.lang.Process.launchMechanism=VFORK",
            # A process that runs for hours fills the default of 240 MB, then compiles all the time.
            "-XX:ReservedCodeCacheSize=512m",
        ]
    )
    settings.update(warehouse_settings(given, root))
    for key, value in given.items():
        separator = _COMBINED.get(key)
        if separator and settings.get(key):
            settings[key] += separator + value
        else:
            settings[key] = value
    if _ONE_PROCESS.fullmatch(settings["spark.master"]):
        # Spark listens even then, and reads Java objects from whoever connects; any user of the
        # machine can. It makes itself a secret for this, which never leaves the process.
        settings.setdefault("spark.authenticate", "true")
    return jar_settings(settings)


def _general(master: str | None) -> dict[str, str]:
    """Return sizes that fit a laptop or a small server, and no web page."""
    cores = os.cpu_count() or 2
    settings = {
        "spark.app.name": "dbt-tapestry",
        "spark.master": master or f"local[{cores}]",
        "spark.driver.memory": f"{_driver_memory_mib()}m",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # What Spark keeps of past statements for that page, plans and all: a thousand of ours take
        # 100 MB. A run looks up what its own have read, as far back as this.
        "spark.sql.ui.retainedExecutions": str(LATEST),
        # With room for Spark's hundred pieces a warm run that checks its rows compiles up to 150,
        # Delta's own among them, most of which the run before had already.
        "spark.sql.codegen.cache.maxEntries": "1000",
    }
    if str(master).startswith("spark://"):
        # All that is free otherwise: the next application would wait until this one ends.
        settings["spark.cores.max"] = MOST_CORES
    if not master or master.startswith("local"):
        settings["spark.sql.shuffle.partitions"] = str(cores)
        # Nothing of a Spark in one process has to be reached from another machine.
        settings["spark.driver.host"] = "localhost"
        settings["spark.driver.bindAddress"] = "127.0.0.1"
        # A laptop that slept for two minutes would find its only executor given up for lost.
        settings["spark.storage.blockManagerHeartbeatTimeoutMs"] = f"{30 * 24 * 60}min"
        # Delta writes its checksums through this one; the default starts a program for each step.
        settings["spark.sql.streaming.checkpointFileManagerClass"] = FILE_MANAGER
    return settings


def _delta() -> dict[str, str]:
    return {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        # Delta writes the list of a table's files beside each commit, which it never reads again,
        # and outside of UTC compares it at each commit with the list that it makes anew.
        "spark.databricks.delta.allFilesInCrc.enabled": "false",
    }


def _driver_memory_mib() -> int:
    """Return a quarter of the machine's memory, between 1 and 4 GiB."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
    except (ValueError, OSError, AttributeError):
        return 1024
    return max(1024, min(4096, total // 4))
