"""Sessions of a Spark Connect client that end when asked to, even if the server is gone.

pyspark asks a server that is gone again and again for ten minutes: for each statement, for the
release of a session (for which all other threads' sessions wait), and once more for each session
when Python exits. A process that has reported its error would hang for as long.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Mapping
from threading import Lock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_VARIABLE = "SPARK_CONNECT_MODE_ENABLED"
_WAITS, _LONGEST = 4, 5.0
"""Waits of 0.05, 0.2, 0.8 and 3.2 s come before the longest ones."""
_ALIVE = {
    "grpc.keepalive_time_ms": 310_000,
    "grpc.keepalive_timeout_ms": 30_000,
    "grpc.http2.max_pings_without_data": 0,
}
"""A machine that is gone without a word is noticed while a statement runs there, however long.

Asked more often than every five minutes, the server would hang up: gRPC's own rule for servers.
"""


class _Mode:
    """The variable that makes pyspark's functions those of Connect, while a session of it is open.

    Python models and Great Expectations call these functions. The variable holds for the whole
    process, in which an embedded Spark may be started later, which would fail with it.
    """

    def __init__(self) -> None:
        self._open, self._ours, self._lock = 0, False, Lock()

    def enter(self) -> None:
        """Count a session that was opened; the first one sets the variable."""
        with self._lock:
            if self._open == 0:
                self._ours = _VARIABLE not in os.environ
                os.environ.setdefault(_VARIABLE, "1")
            self._open += 1

    def leave(self) -> None:
        """Count a session that ended; the last one removes the variable if the first has set it."""
        with self._lock:
            self._open = max(0, self._open - 1)
            if self._open == 0 and self._ours:
                os.environ.pop(_VARIABLE, None)
                self._ours = False


_MODE = _Mode()


def new_connect_session(url: str, wanted: Mapping[str, str], seconds: float) -> SparkSession:
    """Return a session with its settings that gives up if the server is gone for ``seconds``.

    Settings that the server does not take are no error here: the caller checks them.
    """
    from pyspark.sql.connect.client import DefaultChannelBuilder
    from pyspark.sql.connect.session import SparkSession as ConnectSession

    channel = DefaultChannelBuilder(url, channelOptions=list(_ALIVE.items()))
    # Without settings nothing is sent yet; with them pyspark's limit of ten minutes would apply.
    session: Any = ConnectSession.builder.channelBuilder(channel).create()
    client = session.client
    # The server forgets models of machine learning with the session.
    atexit.unregister(client._cleanup_ml_cache)
    _try(client, max(1, _WAITS + int(seconds / _LONGEST)))
    _MODE.enter()
    try:
        # As the builder does it, except that a refused value is left out.
        session.conf._set_all(dict(wanted), silent=True)
    except BaseException:
        end_session(session)
        raise
    opened: SparkSession = session
    return opened


def end_session(session: SparkSession) -> None:
    """Ask the server to forget a session; one that is gone is asked once only."""
    opened: Any = session
    _try(opened.client, 0)
    try:
        session.stop()
    finally:
        _MODE.leave()


def _try(client: Any, times: int) -> None:
    from pyspark.sql.connect.client.retries import DefaultPolicy

    policy = DefaultPolicy(max_retries=times, max_backoff=int(1000 * _LONGEST))
    client.set_retry_policies([policy])
