"""Sends the output of Spark, Ivy and the JVM to one file, never to the terminal."""

from __future__ import annotations

import os
from pathlib import Path

FILE_NAME = "spark.log"

LOG4J = """\
status = error
rootLogger.level = warn
rootLogger.appenderRef.file.ref = file
appender.file.type = Console
appender.file.name = file
appender.file.target = SYSTEM_ERR
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{yyyy-MM-dd HH:mm:ss.SSS} %p %c{1}: %m%n%ex
"""
"""The JVM's standard error is the log file, so the console appender writes there: one file for
log4j, Ivy and what the JVM itself says before log4j is up."""


def spark_log(log_path: str | None, project_root: str | None = None) -> Path:
    """Return the log file of this project's Spark; its folder exists afterwards."""
    root = Path(project_root or os.getcwd())
    folder = root / (log_path or "logs")
    folder.mkdir(parents=True, exist_ok=True)
    return folder / FILE_NAME


def size(path: Path) -> int:
    """Return the bytes of a log; 0 where there is none."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def tail(path: Path, lines: int = 200, after: int = 0) -> str:
    """Return the last lines of a log, of those after so many bytes, to find a known cause in."""
    try:
        with path.open("rb") as file:
            file.seek(after)
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return ""
    return "\n".join(text.splitlines()[-lines:])


def hush_pyspark() -> None:
    """Keep pyspark from printing failed statements to the terminal, as JSON; dbt reports them.

    Formatting them also fails on errors of Delta's that Spark has no template for, whose message
    would be lost. dbt-spark's code around a Python model imports pandas on Spark, which warns if
    this variable is not set before Spark starts, and then sets it: so it is set here.
    """
    from pyspark.errors import PySparkException

    os.environ.setdefault("PYARROW_IGNORE_TIMEZONE", "1")
    PySparkException._log_exception = lambda self: None  # type: ignore[method-assign]
