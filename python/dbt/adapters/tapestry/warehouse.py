"""Finds the place of the embedded Spark's tables, and of its catalog.

A warehouse may lie in any storage that Hadoop reaches. The adapter's own catalog is a file, so it
lies in the warehouse only where that is a folder of this machine. Elsewhere it would be known to
this machine alone, or to the current folder: another machine would find an empty catalog over full
data. So then the profile has to say where the catalog is.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.tapestry.catalog import catalog_settings
from tapestry.runs.engine.locations import (
    CATALOG_FOLDER,
    DEFAULT_FS,
    WAREHOUSE,
    local_folder,
    own_catalog,
)

DATABASE_KEY = "spark.hadoop.javax.jdo.option.ConnectionURL"
_H2 = "jdbc:h2:"
_OF_H2 = ("spark.hadoop.javax.jdo.option.", "spark.hadoop.datanucleus.mapping.Schema")
_STORED = (
    "Database Type Table Constraint SerDeInfo ColumnDescriptor StringList StorageDescriptor"
    " Partition Index Role RoleMap GlobalPrivilege DBPrivilege TablePrivilege PartitionPrivilege"
    " TableColumnPrivilege PartitionColumnPrivilege PartitionEvent MasterKey DelegationToken"
    " TableColumnStatistics PartitionColumnStatistics VersionTable Function NotificationLog"
    " NotificationNextId"
)
_ALL_TABLES_FIRST = {
    "spark.hadoop.datanucleus.autoStartMechanism": "Classes",
    "spark.hadoop.datanucleus.autoStartClassNames": ",".join(
        f"org.apache.hadoop.hive.metastore.model.M{name}" for name in _STORED.split()
    ),
}
"""Hive's tables are made before its first transaction, which would hold locks that they wait for.

Each table is made when it is first asked for, on a connection of its own: in PostgreSQL the key
that refers to a table which the transaction has written to waits for it, and it for the key.
"""


def warehouse_settings(given: Mapping[str, str], root: Path) -> dict[str, str]:
    """Return the Spark settings for the warehouse and the catalog of a project.

    Raises DbtRuntimeError, with the ways out, where no place for the catalog is known.
    """
    warehouse = str(given.get(WAREHOUSE, root / "warehouse"))
    if own_catalog(given):
        return {WAREHOUSE: warehouse, **_for_database(given)}
    return {WAREHOUSE: warehouse, **catalog_settings(catalog_folder(given, root))}


def catalog_folder(given: Mapping[str, str], root: Path) -> Path:
    """Return the folder of the adapter's own catalog: the warehouse's, or the one that is named.

    Raises DbtRuntimeError where the warehouse is no folder of this machine and none is named.
    """
    named = given.get(CATALOG_FOLDER)
    warehouse = str(given.get(WAREHOUSE, root / "warehouse"))
    if named:
        folder = local_folder(named) if named.startswith(("/", "file:")) else None
        if folder is None:
            raise DbtRuntimeError(
                f"{CATALOG_FOLDER}: {named} is no folder of this machine; it holds an H2 database\n"
                "Name an absolute path on a local disk, or name a database instead:"
                f" {DATABASE_KEY} under server_side_parameters"
            )
        return folder
    folder = local_folder(warehouse, given)
    if folder is None:
        raise _elsewhere(warehouse)
    return folder


def folder_of(settings: Mapping[str, str]) -> Path | None:
    """Return the folder of a Spark's catalog with these settings; None: it is not the adapter's."""
    named = settings.get(CATALOG_FOLDER)
    return local_folder(named) if named else local_folder(settings[WAREHOUSE], settings)


def check_default(settings: Mapping[str, str], default_fs: str) -> None:
    """Refuse a catalog in a warehouse that Hadoop's own files put elsewhere (`fs.defaultFS`).

    Only a Spark that runs has read them. Raises DbtRuntimeError like `catalog_folder`.
    """
    warehouse = settings[WAREHOUSE]
    ours = settings.get(DATABASE_KEY) == catalog_settings(Path(warehouse))[DATABASE_KEY]
    if ours and local_folder(warehouse, {DEFAULT_FS: default_fs}) is None:
        raise _elsewhere(f"{default_fs.rstrip('/')}{warehouse}")


def make_folders(settings: Mapping[str, str]) -> None:
    """Make the folders of this machine that a Spark with these settings keeps its tables in.

    A catalog's own folder is for its owner alone. Raises DbtRuntimeError where one cannot be made.
    """
    _make(CATALOG_FOLDER, local_folder(settings.get(CATALOG_FOLDER, "")), 0o700)
    _make(WAREHOUSE, local_folder(settings[WAREHOUSE], settings), 0o777)


def _make(key: str, folder: Path | None, mode: int) -> None:
    try:
        if folder is not None:
            folder.mkdir(mode=mode, parents=True, exist_ok=True)
    except OSError as error:
        raise DbtRuntimeError(
            f"The folder {folder} cannot be made: {error.strerror}\n"
            f"Set {key} under server_side_parameters to one that you can write to"
        ) from error


def _elsewhere(warehouse: str) -> DbtRuntimeError:
    return DbtRuntimeError(
        f"{WAREHOUSE}: {warehouse} is no folder of this machine, so Spark's catalog cannot be a"
        " file in it\n"
        f"{_meant(warehouse)}"
        f"Keep the catalog in a database: {DATABASE_KEY} and what belongs to it, under"
        " server_side_parameters (docs/how-to/cluster.md);\n"
        f"or, where dbt runs on one machine only, name a folder for it: {CATALOG_FOLDER}"
    )


def _meant(warehouse: str) -> str:
    """Return a hint for a location that begins like a file's: the URL that may be meant."""
    if not warehouse.lower().startswith("file:"):
        return ""
    path = warehouse[5:].lstrip("/")
    return f"If it was meant as one, write file:///{path} (three slashes, absolute);\n"


def _for_database(given: Mapping[str, str]) -> dict[str, str]:
    """Return Hive's settings for a catalog that the profile names; the profile's go before."""
    settings = catalog_settings(Path("/"))
    url = str(given.get(DATABASE_KEY, ""))
    if url.startswith(_H2):
        return {**settings, DATABASE_KEY: url}
    kept = {key: value for key, value in settings.items() if not key.startswith(_OF_H2)}
    return {**kept, **_ALL_TABLES_FIRST} if url else kept
