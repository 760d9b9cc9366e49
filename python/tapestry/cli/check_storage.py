"""Checks whether the storage excludes concurrent writers, as Delta needs (semantics, section 4)."""

from __future__ import annotations

from tapestry.cli.checks import NOTE, OK, WRONG, Diagnosis
from tapestry.quoting import identifier, relation_name
from tapestry.runs.engine.session import Session

EXCLUSIVE = {
    "hdfs": "HDFS renames exclusively",
    "viewfs": "HDFS renames exclusively",
    "abfs": "Azure renames exclusively",
    "abfss": "Azure renames exclusively",
    "gs": "Google Cloud Storage creates a file only where none is",
    "dbfs": "Databricks commits through a service",
}
S3 = ("s3", "s3a", "s3n")
DYNAMO = "io.delta.storage.S3DynamoDBLogStore"


def check_storage(session: Session, schema: str) -> Diagnosis:
    """Return where the target schema lies, and whether two drivers may write there at once."""
    location = location_of(session, schema)
    scheme = location.partition(":")[0].lower() if ":" in location else "file"
    return exclusion(location, scheme, _log_store(session, scheme))


def exclusion(location: str, scheme: str, log_store: str) -> Diagnosis:
    """The finding for a scheme; ``log_store`` is the class configured for it, or ''."""
    from dbt.adapters.tapestry.log_store import CLASS

    if scheme in EXCLUSIVE:
        return Diagnosis("storage", OK, f"{location}: {EXCLUSIVE[scheme]}")
    if scheme in S3:
        if log_store == DYNAMO:
            return Diagnosis("storage", OK, f"{location}: commits go through DynamoDB")
        return Diagnosis(
            "storage",
            WRONG,
            f"{location}: Delta on S3 lets two drivers overwrite each other's commit",
            f"server_side_parameters: {{spark.delta.logStore.{scheme}.impl: {DYNAMO}, …}} and its"
            " jar, io.delta:delta-storage-s3-dynamodb, in spark.jars.packages; or let only one"
            " driver ever write",
        )
    if scheme == "file" and log_store == CLASS:
        return Diagnosis("storage", OK, f"{location}: a local disk; commits are made by hard links")
    if scheme == "file" and not log_store:
        return Diagnosis(
            "storage",
            NOTE,
            f"{location}: a local disk; Delta looks whether a commit is there and then renames, so"
            " two processes within the same moment are not told apart for certain",
            "let one process at a time run a model; for several machines use HDFS, ABFS or GCS",
        )
    if log_store:
        return Diagnosis(
            "storage",
            NOTE,
            f"{location}: as exclusive as {log_store} is",
            "make sure that it lets one of two writers of a commit win",
        )
    return Diagnosis(
        "storage",
        NOTE,
        f"{location}: nothing is known of {scheme}: with its default Delta renames files there",
        # sql: only shown, to people
        f"set spark.delta.logStore.{scheme}.impl to a LogStore made for it",
    )


def location_of(session: Session, schema: str) -> str:
    """Return the location of a schema's tables; the warehouse if the schema does not exist."""
    try:
        rows = session.rows(f"DESCRIBE SCHEMA EXTENDED {relation_name(schema)}")
    except Exception:
        rows = []
    for name, value, *_ in rows:
        if str(name).lower() == "location":
            return str(value)
    return setting(session, "spark.sql.warehouse.dir") or "file:"


def _log_store(session: Session, scheme: str) -> str:
    return setting(session, f"spark.delta.logStore.{scheme}.impl") or setting(
        session, "spark.delta.logStore.class"
    )


def setting(session: Session, key: str) -> str:
    """A setting of the session; '' where it is not set."""
    try:
        ((_, value, *_),) = session.rows(f"SET {identifier(key)}")
    except Exception:
        return ""
    return "" if value is None or "<undefined>" in str(value) else str(value)
