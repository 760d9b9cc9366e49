"""Checks whether all users of the warehouse find the same tables in it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tapestry.cli.checks import NOTE, OK, WRONG, Diagnosis
from tapestry.runs.engine.locations import WAREHOUSE, local_folder, own_catalog


def check_catalog(given: Mapping[str, str], root: Path, master: str | None = None) -> Diagnosis:
    """Return where Spark's catalog is, for a session of dbt's own with these settings."""
    from dbt_common.exceptions import DbtRuntimeError

    from dbt.adapters.tapestry.warehouse import DATABASE_KEY, catalog_folder

    warehouse = str(given.get(WAREHOUSE, root / "warehouse"))
    here = local_folder(warehouse, given)
    named = own_catalog(given)
    if named:
        told = f"{named}, for tables in {warehouse}"
    else:
        try:
            folder = catalog_folder(given, root)
        except DbtRuntimeError as error:
            reason, *ways = error.msg.splitlines()
            return Diagnosis("catalog", WRONG, reason, " ".join(ways))
        told = f"a file in {folder}, for tables in {warehouse}"
        if here is None:
            return Diagnosis(
                "catalog",
                NOTE,
                f"{told}: it is this machine's, and another one finds no tables there",
                f"where dbt runs on several machines, keep it in a database: {DATABASE_KEY}",
            )
    if here is not None and not _one_machine(master):
        return Diagnosis(
            "catalog",
            NOTE,
            f"{told}: a folder, which every worker of {master} has to reach under this path",
            f"unless it is a network disk, set {WAREHOUSE} to hdfs://, abfss://, gs:// or s3a://",
        )
    return Diagnosis("catalog", OK, told)


def _one_machine(master: str | None) -> bool:
    return master is None or master.startswith("local")
