"""Checks whether a Spark server is set for many small statements, not only for large ones."""

from __future__ import annotations

from tapestry.cli.check_storage import setting
from tapestry.cli.checks import NOTE, OK, Diagnosis
from tapestry.runs.engine.session import Session

PAGE = "docs/how-to/cluster.md, “Sizes for small data”"
_SHUFFLE = "spark.sql.shuffle.partitions"
_SNAPSHOT = "spark.databricks.delta.snapshotPartitions"
_CODE = "spark.sql.codegen.cache.maxEntries"
_PAGES = "spark.buffer.pageSize"
_JAVA = "spark.driver.extraJavaOptions"
_CODE_CACHE = "-XX:ReservedCodeCacheSize=512m"
_FEW = 16


def cores_of(session: Session) -> int | None:
    """The cores of Spark; None where it does not say."""
    from dbt.adapters.tapestry.workers import ASKS_CORES, cores_told

    try:
        return cores_told(session.rows(ASKS_CORES))
    except Exception:
        return None


def check_server(session: Session) -> Diagnosis:
    """The sizes that a server has been started with, where they are Spark's own for large data."""
    cores = cores_of(session)
    enough = max(_FEW, 3 * (cores or 0))
    unset: list[str] = []
    if _number(setting(session, _SHUFFLE), 200) > enough:
        unset.append(f"{_SHUFFLE}={cores or _FEW}")
    if _number(setting(session, _SNAPSHOT), 50) > enough:
        unset.append(f"{_SNAPSHOT}=1")
    if _number(setting(session, _CODE), 100) < 1000:
        unset.append(f"{_CODE}=1000")
    if setting(session, "spark.master").startswith("local") and not setting(session, _PAGES):
        unset.append(f"{_PAGES}=512k")
    if "ReservedCodeCacheSize" not in setting(session, _JAVA):
        unset.append(f"{_JAVA}={_CODE_CACHE}")
    told = "the server" if cores is None else f"the server's {cores} cores"
    if not unset:
        return Diagnosis("server", OK, f"{told}: set for many small statements")
    return Diagnosis(
        "server",
        NOTE,
        f"{told}: not set for many small statements, of which a run consists",
        f"start it with {' '.join(f'--conf {one}' for one in unset)} ({PAGE})",
    )


def _number(text: str, otherwise: int) -> int:
    return int(text) if text.isdecimal() else otherwise
