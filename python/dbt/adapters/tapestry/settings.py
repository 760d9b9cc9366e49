"""What the embedded Spark is started with, unless the profile says otherwise."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from dbt.adapters.tapestry.jars import jar_settings

WAREHOUSE = "spark.sql.warehouse.dir"
CATALOG_DRIVER = "org.h2.Driver"
CATALOG_URL = "spark.hadoop.javax.jdo.option.ConnectionURL"

SESSION_DEFAULTS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.sources.default": "delta",
    "spark.databricks.delta.snapshotPartitions": "1",
    # dbt-spark's own choice, so that the same project means the same on Spark 3 and 4.
    "spark.sql.ansi.enabled": "false",
}
"""Set again in every new session: Spark hands them down only from the settings it started with."""

_COMBINED = {
    "spark.driver.extraJavaOptions": " ",
    "spark.sql.extensions": ",",
    "spark.jars": ",",
    "spark.jars.packages": ",",
}
"""Lists: what the profile gives is added to what the adapter needs."""


def start_settings(
    given: Mapping[str, str], root: Path, master: str | None, log4j: Path
) -> dict[str, str]:
    """All settings for a new Spark: the defaults below, overridden or extended by `given`."""
    settings = {**_general(master), **_delta(), **SESSION_DEFAULTS}
    settings["spark.driver.extraJavaOptions"] = " ".join(
        [
            f"-Dlog4j2.configurationFile={log4j.as_uri()}",
            # The catalog's server is for this machine's processes alone.
            "-Dh2.bindAddress=127.0.0.1",
            "-XX:+UseParallelGC",
            # Not a setting of Spark's: progress of Ivy and deprecation warnings of the JVM.
            "-XX:+IgnoreUnrecognizedVMOptions",
        ]
    )
    settings[WAREHOUSE] = given.get(WAREHOUSE, str(root / "warehouse"))
    settings.update(_catalog(Path(settings[WAREHOUSE].removeprefix("file:"))))
    for key, value in given.items():
        separator = _COMBINED.get(key)
        if separator and settings.get(key):
            settings[key] += separator + value
        else:
            settings[key] = value
    return jar_settings(settings)


def _general(master: str | None) -> dict[str, str]:
    """Sizes that fit a laptop or a small server, and no web page."""
    cores = os.cpu_count() or 2
    settings = {
        "spark.app.name": "dbt-tapestry",
        "spark.master": master or f"local[{cores}]",
        "spark.driver.memory": f"{_driver_memory_mib()}m",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    if not master or master.startswith("local"):
        settings["spark.sql.shuffle.partitions"] = str(cores)
        # Nothing of a Spark in one process has to be reached from another machine.
        settings["spark.driver.host"] = "localhost"
        settings["spark.driver.bindAddress"] = "127.0.0.1"
    return settings


def _delta() -> dict[str, str]:
    return {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    }


def _catalog(warehouse: Path) -> dict[str, str]:
    """Where Spark keeps the names of tables and views: an H2 database beside the data.

    Spark's own choice, Derby, admits one process. H2 in AUTO_SERVER mode opens the file in the
    first process and lets the others in through it; when that process leaves or is killed, the
    next one takes over (docs/adapter.md has the alternatives and what was tried).
    """
    url = f"jdbc:h2:file:{warehouse.absolute() / 'catalog'};AUTO_SERVER=TRUE"
    return {
        "spark.sql.catalogImplementation": "hive",
        CATALOG_URL: url,
        "spark.hadoop.javax.jdo.option.ConnectionDriverName": CATALOG_DRIVER,
        "spark.hadoop.javax.jdo.option.ConnectionUserName": "sa",
        "spark.hadoop.javax.jdo.option.ConnectionPassword": "",
        # H2 sees INFORMATION_SCHEMA and PUBLIC; DataNucleus would look for its tables in both.
        "spark.hadoop.datanucleus.mapping.Schema": "PUBLIC",
        "spark.hadoop.datanucleus.schema.autoCreateAll": "true",
        "spark.hadoop.hive.metastore.schema.verification": "false",
    }


def _driver_memory_mib() -> int:
    """A quarter of the machine, between 1 and 4 GiB."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
    except (ValueError, OSError, AttributeError):
        return 1024
    return max(1024, min(4096, total // 4))
