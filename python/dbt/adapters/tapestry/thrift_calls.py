"""Makes calls of several threads over one Thrift connection wait for each other.

One thread polls whether a statement is done, another one may cancel it: both over one socket, which
takes one request and its answer at a time.
"""

from __future__ import annotations

from threading import Lock
from typing import Any


class OneAtATime:
    """A Thrift client whose calls wait for each other."""

    def __init__(self, client: Any) -> None:
        self._client, self._lock = client, Lock()

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._client, name)
        if not callable(found):
            return found

        def call(*given: Any, **named: Any) -> Any:
            with self._lock:
                return found(*given, **named)

        return call


def one_at_a_time(handle: Any) -> None:
    """Let the calls of a handle of dbt-spark wait for each other, where they are Thrift's."""
    connection = getattr(handle, "handle", None)
    client = getattr(connection, "_client", None)
    if client is not None and not isinstance(client, OneAtATime):
        connection._client = OneAtATime(client)
