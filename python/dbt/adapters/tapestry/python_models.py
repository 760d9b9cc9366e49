"""Runs Python models inside this process, on the Spark session of their thread."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Any

from dbt.adapters.events.logging import AdapterLogger
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.tapestry.column_mapping import explained
from dbt.adapters.tapestry.failures import short_message
from dbt.adapters.tapestry.outages import outage
from tapestry.errors import ConfigurationError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

logger = AdapterLogger("Tapestry")


def run_python_model(session: SparkSession, model: dict[str, Any], code: str) -> None:
    """Execute the compiled model; its last line writes the table.

    Raises DbtRuntimeError with the kind of the error, its text and the line of the model.
    """
    path = str(model.get("original_file_path", "model"))
    namespace: dict[str, Any] = {"spark": session, "__name__": "__dbt_model__"}
    try:
        exec(compile(code, path, "exec"), namespace)
    except Exception as error:
        logger.debug(traceback.format_exc())
        theirs = type(error).__module__.split(".")[0] in ("grpc", "pyspark", "py4j")
        broken = outage(error, "the target's Spark") if theirs else None
        raise DbtRuntimeError(str(broken) if broken else _explain(error, model, path)) from None


def refuse_without_session(credentials: Any, model: dict[str, Any]) -> None:
    """Raise DbtRuntimeError where Spark takes SQL only, and no cluster of Databricks' is named."""
    config = model.get("config") or {}
    named = config.get("cluster_id") or getattr(credentials, "cluster_id", None)
    if named or config.get("job_cluster_config") or getattr(credentials, "cluster", None):
        return
    error = ConfigurationError(
        "a Python model needs a session of Spark,"
        f" and method: {credentials.method.value} takes SQL only",
        where=str(model.get("original_file_path", "")),
        hint="run it with method: session (embedded, master: spark://… or sc://…),"
        " or write it in SQL",
    )
    raise DbtRuntimeError(str(error))


def _explain(error: Exception, model: dict[str, Any], path: str) -> str:
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == path
    ]
    if isinstance(error, SyntaxError):
        lines = [error.lineno or 0]
    where = f" (line {lines[-1]} of the compiled model)" if lines else ""
    message = short_message(error)
    # sql: read for the table's name only, never run
    said = explained(message, f"create table {model.get('relation_name') or ''}")
    return said if said != message else f"{type(error).__name__}: {message}{where}"
