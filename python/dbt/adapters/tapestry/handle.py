"""A database connection, as dbt sees one, over a Spark session of its own."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any

from dbt.adapters.spark.connections import SparkConnectionWrapper

from dbt.adapters.tapestry.connect_client import end_session
from dbt.adapters.tapestry.delta_logs import DeltaLogs
from dbt.adapters.tapestry.overrides import Overrides
from tapestry.quoting import string

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class EmbeddedConnection(SparkConnectionWrapper):
    """A connection's handle in dbt's terms; `session` is this thread's Spark session.

    `opened` are the settings in force when it was opened.

    dbt-spark's own handle uses `SparkSession.builder.getOrCreate()`, so that all threads share
    temporary views and settings; here every connection has a session of its own.
    """

    def __init__(self, session: SparkSession, opened: Mapping[str, str]) -> None:
        self.session = session
        self.opened = opened
        self.logs = DeltaLogs(self.session)
        self.overrides = Overrides(self.session.conf)
        self._frame: DataFrame | None = None
        self._rows: list[tuple[Any, ...]] | None = None

    def cursor(self) -> EmbeddedConnection:
        """Return the connection itself: dbt runs one statement of a connection at a time."""
        self._frame = self._rows = None
        return self

    def beside(self) -> EmbeddedConnection:
        """Return another cursor over the same session, for another thread's statements."""
        other = copy(self)
        return other.cursor()

    def execute(self, sql: str, bindings: Sequence[Any] | None = None) -> None:
        sql = sql.strip()
        sql = sql[:-1] if sql.endswith(";") else sql
        if bindings:
            sql = sql % tuple(literal(value) for value in bindings)
        self._rows = None
        self._frame = self.session.sql(sql)

    def fetchall(self) -> list[tuple[Any, ...]]:
        if self._rows is None:
            self._rows = self._collect(lambda frame: frame)
        rows, self._rows = self._rows, []
        return rows

    def fetchmany(self, size: int) -> list[tuple[Any, ...]]:
        if self._rows is None:
            self._rows = self._collect(lambda frame: frame.limit(size))
        rows, self._rows = self._rows[:size], self._rows[size:]
        return rows

    def fetchone(self) -> tuple[Any, ...] | None:
        if self._rows is None:
            self._rows = self._collect(lambda frame: frame)
        return self._rows.pop(0) if self._rows else None

    @property
    def description(self) -> Sequence[tuple[str, Any, None, None, None, None, bool]]:
        if self._frame is None:
            return []
        return [
            (field.name, field.dataType.simpleString(), None, None, None, None, field.nullable)
            for field in self._frame.schema.fields
        ]

    def cancel(self) -> None:
        """Stop what this session runs; other threads' work goes on."""
        if "session" in vars(self):
            self.session.interruptAll()

    def rollback(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing: Spark has no transactions over several statements."""

    def close(self) -> None:
        """Release the session: Spark keeps it for as long as something here refers to it.

        A Spark Connect server keeps a session for an hour unless it is told to forget it.
        dbt keeps closed connections, in objects that refer to each other, which Python may collect
        hours later; a process that runs models for days would fill Spark with their sessions.
        """
        self._frame = self._rows = None
        session = vars(self).pop("session", None)
        for name in ("logs", "overrides"):
            vars(self).pop(name, None)
        if session is not None and not hasattr(session, "_jsparkSession"):
            end_session(session)

    def _collect(self, cut: Callable[[DataFrame], DataFrame]) -> list[tuple[Any, ...]]:
        """Return the rows; instants as wall clock time of the session's zone, not of the machine's.

        pyspark turns a TIMESTAMP into local time of the Python process; TIMESTAMP_NTZ comes
        as it is.
        """
        if self._frame is None:
            return []
        from pyspark.sql import types

        frame = cut(self._frame)
        fields = frame.schema.fields
        if any(isinstance(field.dataType, types.TimestampType) for field in fields):
            # Names can occur twice or hold dots: address the columns by place.
            named = frame.toDF(*(f"c{place}" for place in range(len(fields))))
            frame = named.selectExpr(
                *(
                    f"CAST(c{place} AS TIMESTAMP_NTZ)"
                    if isinstance(field.dataType, types.TimestampType)
                    else f"c{place}"
                    for place, field in enumerate(fields)
                )
            )
        return [tuple(row) for row in frame.collect()]


def literal(value: Any) -> str:
    """Return a Python value as Spark SQL.

    >>> literal("it's")
    "('it' || CAST(X'27' AS STRING) || 's')"
    >>> literal(None), literal(True), literal(3)
    ('NULL', 'true', '3')
    """
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, dt.datetime):
        return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
    text = value.isoformat() if isinstance(value, dt.date | dt.time) else str(value)
    return string(text)
