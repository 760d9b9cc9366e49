"""Python models run inside this process, on the Spark session of their thread."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Any

from dbt.adapters.events.logging import AdapterLogger
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.tapestry.failures import short_message

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
        raise DbtRuntimeError(_explain(error, path)) from None


def _explain(error: Exception, path: str) -> str:
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == path
    ]
    if isinstance(error, SyntaxError):
        lines = [error.lineno or 0]
    where = f" (line {lines[-1]} of the compiled model)" if lines else ""
    return f"{type(error).__name__}: {short_message(error)}{where}"
