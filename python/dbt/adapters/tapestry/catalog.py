"""Spark's catalog of tables and views: an H2 database beside the data, open to several processes.

Derby, which Spark uses by default, admits one process: a second `dbt run`, or a report beside a
schedule, would fail. H2 in AUTO_SERVER mode opens the file in the first process, and the others
connect through it; when that process leaves or is killed, another takes over. `catalog_access` lets
nobody but the owner connect. docs/reference/adapter.md has the alternatives and what was tried.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dbt.adapters.events.logging import AdapterLogger
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.tapestry.catalog_access import USER, connection_with, prepared, url_of
from tapestry.errors import ConfigurationError

if TYPE_CHECKING:
    from pyspark import SparkContext

logger = AdapterLogger("Tapestry")

DRIVER = "org.h2.Driver"
_JDO = "spark.hadoop.javax.jdo.option."
_ATTEMPTS = 8
_HIVES_LENGTH = 256

# Dropping a schema makes Hive clean up after its own kind of transactions, in tables that it does
# not create. They stay empty: Delta keeps its transactions elsewhere.
_TRANSACTION_TABLES = {
    "TXN_COMPONENTS": "TC",
    "COMPLETED_TXN_COMPONENTS": "CTC",
    "COMPACTION_QUEUE": "CQ",
    "COMPLETED_COMPACTIONS": "CC",
}


def catalog_settings(warehouse: Path) -> dict[str, str]:
    """Return the Spark settings that put the catalog into the warehouse's folder."""
    return {
        "spark.sql.catalogImplementation": "hive",
        f"{_JDO}ConnectionURL": url_of(warehouse),
        f"{_JDO}ConnectionDriverName": DRIVER,
        f"{_JDO}ConnectionUserName": USER,
        # Not the real password: only Hive gets that, when the catalog is opened.
        f"{_JDO}ConnectionPassword": "",
        # H2 sees INFORMATION_SCHEMA and PUBLIC; DataNucleus would look for its tables in both.
        "spark.hadoop.datanucleus.mapping.Schema": "PUBLIC",
        "spark.hadoop.datanucleus.schema.autoCreateAll": "true",
        "spark.hadoop.hive.metastore.schema.verification": "false",
    }


def open_catalog(context: SparkContext, settings: Mapping[str, str], folder: Path | None) -> None:
    """Open the catalog's database before Hive does, which would try ten times, two seconds apart.

    For a database that the profile names, user and password are the profile's; for another kind
    than H2 only the driver is registered. Raises DbtRuntimeError where the file cannot be opened or
    there is no such driver, ConfigurationError where others than its user can reach the catalog.
    """
    jvm: Any = context._jvm
    url = settings.get(f"{_JDO}ConnectionURL", "")
    driver = settings.get(f"{_JDO}ConnectionDriverName", "")
    if driver:
        _register(jvm, driver)
    if driver != DRIVER or not url.startswith("jdbc:h2:"):
        return
    if folder is not None and url == url_of(folder):
        with prepared(jvm, folder) as password:
            connection = _patiently(lambda: connection_with(jvm, url, password))
        # Neither among Spark's settings, which pass through command lines and messages to workers,
        # nor on its page: the settings of Hadoop, of which Hive takes its copy afterwards.
        context._jsc.hadoopConfiguration().set("javax.jdo.option.ConnectionPassword", password)
    else:
        given = (settings.get(f"{_JDO}Connection{key}", "") for key in ("UserName", "Password"))
        connection = _patiently(partial(jvm.java.sql.DriverManager.getConnection, url, *given))
    statement = connection.createStatement()
    for table, prefix in _TRANSACTION_TABLES.items():
        columns = ", ".join(f"{prefix}_{part} VARCHAR" for part in ("DATABASE", "TABLE"))
        statement.execute(f"CREATE TABLE IF NOT EXISTS {table} ({columns})")
    # Held open as long as this process lives, so that the file is not closed and opened in turns.
    context._tapestry_catalog = connection  # type: ignore[attr-defined]
    _call_it_derby(jvm)


def take_long_comments(context: Any) -> None:
    """Let the catalog take a column's comment of any length, once Hive has made its tables.

    Hive gives a comment 256 characters. It tries to write a longer one ten times, two seconds
    apart, before Spark keeps it elsewhere: each view with such a comment would take twenty seconds.
    Tried for each session until it is done: a new catalog gets its tables with the first statement.
    """
    connection = vars(context).get("_tapestry_catalog")
    if connection is None:
        return  # somebody else's catalog, or one that another process holds
    statement = connection.createStatement()
    found = statement.executeQuery(
        "SELECT CHARACTER_MAXIMUM_LENGTH FROM INFORMATION_SCHEMA.COLUMNS WHERE TABLE_SCHEMA ="
        " 'PUBLIC' AND TABLE_NAME = 'COLUMNS_V2' AND COLUMN_NAME = 'COMMENT'"
    )
    if found.next() and found.getLong(1) == _HIVES_LENGTH:
        statement.execute('ALTER TABLE COLUMNS_V2 ALTER COLUMN "COMMENT" SET DATA TYPE VARCHAR')
    statement.close()


def _register(jvm: Any, driver: str) -> None:
    """Register a database's driver so that Hive finds it.

    Hive looks drivers up from Spark's own class loader, which does not see the jars of a session; a
    driver registered through Spark is wrapped in a class that it sees.
    """
    try:
        jvm.org.apache.spark.sql.execution.datasources.jdbc.DriverRegistry.register(driver)
    except Exception as error:
        raise DbtRuntimeError(
            f"Spark's catalog did not open: there is no class {driver}\n"
            "Name the driver's jar in the profile: spark.jars.packages (org.postgresql:postgresql:"
            "<version>) or spark.jars under server_side_parameters"
        ) from error


def _patiently(connect: Callable[[], Any]) -> Any:
    """Return a connection; try again while another process is just opening or leaving the file."""
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            return connect()
        except ConfigurationError:
            raise
        except Exception as error:
            reason = str(getattr(error, "java_exception", error)).splitlines()[0]
            logger.debug(f"the catalog did not open, attempt {attempt}: {reason}")
            time.sleep(0.25 * attempt)
    raise DbtRuntimeError(
        f"Spark's catalog did not open: {reason}\n"
        "It is the file .catalog/catalog.mv.db in the warehouse, or in the folder that the profile"
        " names for it: is the folder writable?"
    )


def _call_it_derby(jvm: Any) -> None:
    """Tell Hive that the catalog's database is Derby, one of the five products that it knows.

    Hive's cleaning after a dropped schema asks for the product and would fail with H2. It asks once
    and keeps the answer, which matters for transactions that nobody uses here.
    """
    package = jvm.org.apache.hadoop.hive.metastore
    field = jvm.java.lang.Class.forName(
        "org.apache.hadoop.hive.metastore.txn.TxnHandler"
    ).getDeclaredField("dbProduct")
    field.setAccessible(True)
    field.set(None, package.DatabaseProduct.DERBY)
