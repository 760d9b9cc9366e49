"""Refuses a catalog that does not know the warehouse's tables: another machine's, or a new one.

Nothing would stop a run there from taking its models for new ones, and building them once more over
the existing tables.
"""

from __future__ import annotations

from tapestry.errors import StateMissing
from tapestry.names import RUNS_TABLE, STATE_TABLE
from tapestry.quoting import relation_name
from tapestry.runs.engine.locations import local_folder
from tapestry.runs.engine.session import Session
from tapestry.runs.tables.target import generation_in

_WAREHOUSE = "spark.sql.warehouse.dir"


def refuse_full_folder(session: Session, schema: str, here: bool = False) -> None:
    """Refuse to make a schema whose folder in the warehouse holds the record of runs.

    ``here``: Spark's folders are this machine's, so that a missing one needs no statement (the
    first two of Delta's that a new process executes take seconds). Raises StateMissing, with the
    ways out. Does nothing where the warehouse is unknown.
    """
    folder = _folder(session, schema)
    if folder is None:
        return
    place = local_folder(folder) if here and folder.startswith("file:") else None
    if place is not None and not place.exists():
        return
    for table in (STATE_TABLE, RUNS_TABLE):
        if generation_in(session, f"{folder}/{table}") is not None:
            raise StateMissing(
                f"Spark's catalog knows no schema {schema}, but in {folder} lie its tables",
                hint="give the profile the catalog that knows them (spark.hadoop.javax.jdo.option"
                ".ConnectionURL); or, if it is lost, CREATE SCHEMA "
                f"{relation_name(schema)} and for each table CREATE TABLE … USING delta LOCATION …",
            )


def _folder(session: Session, schema: str) -> str | None:
    """Return the folder in which Spark puts a schema that is created without a location."""
    try:
        ((_, warehouse, *_),) = session.rows(f"SET {_WAREHOUSE}")
    except Exception:
        return None
    if warehouse is None or "<undefined>" in str(warehouse):
        return None
    return f"{str(warehouse).rstrip('/')}/{schema.lower()}.db"
