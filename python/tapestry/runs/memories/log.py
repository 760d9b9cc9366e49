"""``tapestry_memories``: what was done to memories, and what was found not to pay.

A log for people, and for the next invocation, which need not weigh again what was weighed today.
Delete it and runs go on: they read no memory that it lacks (``records``), and build those anew.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tapestry.names import MEMORIES_TABLE
from tapestry.quoting import relation_name, string, strings
from tapestry.runs.engine.errors_of_delta import lacks_column, not_found
from tapestry.runs.engine.own_tables import OwnTable, append_own
from tapestry.runs.engine.session import Session
from tapestry.runs.memories.wanted import Remembered

MEMORIES: Mapping[str, str] = {
    "invocation_id": "string",
    "at": "timestamp",
    "signature": "string",
    "source": "string",
    "conditions": "string",
    "models": "string",
    "deed": "string",
    "reason": "string",
    "share": "double",
    "seconds": "double",
    "saved_seconds": "double",
    "identity": "string",
}
COMMENT = "tapestry: a log of what was done to memories; those that it lacks are built anew"
AGAIN = "INTERVAL 1 DAY"
"""After that time what was found not to pay is weighed again."""


@dataclass(frozen=True)
class Deed:
    """What was done to a memory: ``build``, ``flush``, ``drop``, or ``leave`` what does not pay.

    share
        Of the rows of the source, those that it holds, as far as that was measured.
    saved
        About how many seconds a run is expected to take less with it.
    identity
        Of what was built (``identity_of``).
    """

    action: str
    wanted: Remembered
    seconds: float = 0.0
    reason: str = ""
    share: float | None = None
    saved: float | None = None
    models: tuple[str, ...] = ()
    identity: str = ""


def write_deeds(session: Session, schema: str, invocation_id: str, deeds: Sequence[Deed]) -> None:
    """Append what an invocation has done; nothing is written where that is nothing."""
    rows = [
        {
            "invocation_id": string(invocation_id),
            "at": "current_timestamp()",
            "signature": string(deed.wanted.signature),
            "source": string(_sources(deed.wanted)),
            "conditions": string(json.dumps(deed.wanted.conditions, ensure_ascii=False)),
            "models": string(json.dumps(deed.models, ensure_ascii=False)),
            "deed": string(deed.action),
            "reason": string(deed.reason),
            "share": _number(deed.share),
            "seconds": _number(deed.seconds),
            "saved_seconds": _number(deed.saved),
            "identity": string(deed.identity),
        }
        for deed in deeds
    ]
    own = OwnTable(f"{schema}.{MEMORIES_TABLE}", MEMORIES, COMMENT, MEMORIES)
    append_own(session, own, rows)


def left_lately(session: Session, schema: str, signatures: Iterable[str]) -> dict[str, str]:
    """Of these, the signatures that were weighed lately and left, with the reason."""
    table = relation_name(f"{schema}.{MEMORIES_TABLE}")
    try:
        rows = session.rows(
            f"SELECT signature, max_by(reason, at) FROM {table}"
            f" WHERE deed = 'leave' AND at > current_timestamp() - {AGAIN}"
            f" AND signature IN ({strings(signatures)}) GROUP BY signature"
        )
    except Exception as error:
        if not_found(error) or lacks_column(error):
            return {}
        raise
    return {str(signature): str(reason) for signature, reason in rows}


def _number(value: float | None) -> str:
    return "CAST(NULL AS DOUBLE)" if value is None else f"CAST({value:.6f} AS DOUBLE)"


def _sources(wanted: Remembered) -> str:
    """The sources of a memory, as the log names them."""
    return ", ".join(dict.fromkeys(table.name for table in wanted.origins))
