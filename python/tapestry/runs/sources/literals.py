"""Names and values as Spark SQL text."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timezone


def identifier(name: str) -> str:
    """One part of a name, in backticks."""
    return "`" + name.replace("`", "``") + "`"


def relation_name(name: str) -> str:
    """A dotted name (backticks allowed) with every part in backticks."""
    return ".".join(identifier(part) for part in name.replace("`", "").split("."))


def string(text: str) -> str:
    """A string literal; backslashes and quotes are escaped as Spark reads them."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def strings(texts: Iterable[str]) -> str:
    """A comma-separated list of string literals."""
    return ", ".join(string(text) for text in texts)


def timestamp(instant: datetime) -> str:
    """A TIMESTAMP literal that names its zone, so that the session's zone does not matter."""
    text = instant.astimezone(timezone.utc).strftime("%Y-%m-%d %H:%M:%S.%f")
    return f"TIMESTAMP '{text.rjust(26, '0')}+00:00'"
