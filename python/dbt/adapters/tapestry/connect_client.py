"""Sessions of a Spark Connect client that end when they are told, the server being there or not.

pyspark asks a server that is gone again and again for ten minutes: for each statement, for the
release of a session (which all other threads' sessions wait for), and once more for each session
when Python exits. A process that has said what is wrong would stand there for as long.
"""

from __future__ import annotations

import atexit
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_WAITS, _LONGEST = 4, 5.0
"""Waits of 0.05, 0.2, 0.8 and 3.2 s come before the longest ones."""


def new_session(url: str, wanted: Mapping[str, str], seconds: float) -> SparkSession:
    """A session with its settings, which gives a server up that is gone for ``seconds``.

    What the server does not take of the settings is no error here: the caller looks.
    """
    from pyspark.sql import SparkSession

    # Without settings nothing is sent yet: pyspark's ten minutes would count for what is.
    session = SparkSession.builder.remote(url).create()
    client: Any = session.client  # type: ignore[attr-defined]
    # The server forgets models of machine learning with the session.
    atexit.unregister(client._cleanup_ml_cache)
    _try(client, max(1, _WAITS + int(seconds / _LONGEST)))
    try:
        # As the builder does it; a value that is refused is left out.
        session.conf._set_all(dict(wanted), silent=True)  # type: ignore[attr-defined]
    except BaseException:
        end_session(session)
        raise
    return session


def end_session(session: SparkSession) -> None:
    """Let the server forget it; one that is gone is asked once, and forgets it by itself."""
    _try(session.client, 0)  # type: ignore[attr-defined]
    session.stop()


def _try(client: Any, times: int) -> None:
    from pyspark.sql.connect.client.retries import DefaultPolicy

    policy = DefaultPolicy(max_retries=times, max_backoff=int(1000 * _LONGEST))
    client.set_retry_policies([policy])
