"""A Spark without a process to ask for the logs of tables."""

from __future__ import annotations

from types import SimpleNamespace

from dbt.adapters.tapestry.delta_logs import DeltaLogs


def test_a_log_that_cannot_be_asked_is_left_to_sql() -> None:
    """Spark Connect's client has no process of Spark's to ask."""
    assert DeltaLogs(SimpleNamespace()).newest("s.t") is None  # type: ignore[arg-type]
