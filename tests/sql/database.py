"""The database that queries are executed in before and after they are rewritten."""

from __future__ import annotations

import duckdb


def in_utc() -> duckdb.DuckDBPyConnection:
    """An empty DuckDB whose sessions are in UTC."""
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    return connection
