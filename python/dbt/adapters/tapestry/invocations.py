"""The invocation that is under way in this process, and what the process remembers."""

from __future__ import annotations

import os
from datetime import datetime, timezone
from threading import Lock
from typing import Any

from dbt_common.invocation import get_invocation_id

from dbt.adapters.tapestry.session import DbtSession
from tapestry.names import STATE_TABLE
from tapestry.runs.clock import VARIABLE, read_clock
from tapestry.runs.instants import parse_zone
from tapestry.runs.invocation import Invocation
from tapestry.runs.memory import Memory

_lock = Lock()
_known: dict[tuple[str, str], Invocation] = {}
_memory = Memory()


def current_invocation(
    config: Any, session: DbtSession, as_of: Any = None, started_at: datetime | None = None
) -> Invocation:
    """dbt's current invocation as `tapestry.runs` sees it, made at the first model.

    Its instant is when dbt started, so that all models, whenever their turn comes, share it.
    Raises ConfigurationError for a `tapestry_as_of` that is no instant.
    """
    schema = config.credentials.schema
    key = (str(get_invocation_id()), schema)
    with _lock:
        if key not in _known:
            zone = str(session.rows("select current_timezone()")[0][0])
            now = (started_at or datetime.now(timezone.utc)).astimezone(timezone.utc)
            clock = read_clock({VARIABLE: as_of}, os.environ, now, parse_zone(zone))
            _known.clear()
            _known[key] = Invocation(key[0], clock, f"{schema}.{STATE_TABLE}", zone, _memory)
        return _known[key]
