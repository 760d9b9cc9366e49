"""``tapestry_memories``: a log of what was done to memories, and which were found not to pay.

It is for people, and for the next invocation, which need not weigh the same memories again. It also
authenticates memories: a table is not trusted for its own properties. Who can write to a schema can
put a table with the name, the properties and the first commit of a memory there. So a run records
what it has built: the id of the Delta table, the generation, and the version of the commit
(``MemoryState.identity``). A table that is made in its place has another id, or, made by CREATE OR
REPLACE, another version. Delete the log and runs go on: they read no memory that it lacks, and
build those anew.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

from tapestry.names import MEMORIES_TABLE
from tapestry.quoting import relation_name, string, strings
from tapestry.runs.engine.errors_of_delta import lacks_column, not_found
from tapestry.runs.engine.own_tables import OwnTable, append_own
from tapestry.runs.engine.session import Session
from tapestry.runs.memories.definition import MemoryDefinition

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
    """An operation on a memory: ``build``, ``flush``, ``drop``, or ``leave`` if it does not pay.

    share
        The share of the source's rows that it holds, as far as that was measured.
    saved
        About how many seconds a run is expected to take less with it.
    identity
        The identity of the built table (``MemoryState.identity``).
    """

    action: str
    wanted: MemoryDefinition
    seconds: float = 0.0
    reason: str = ""
    share: float | None = None
    saved: float | None = None
    models: tuple[str, ...] = ()
    identity: str = ""


class MemoryLog:
    """The log of a schema.

    Its records are read when first needed, and once more where one is missing: another process may
    have built that memory meanwhile.
    """

    def __init__(self, schema: str) -> None:
        self.table = f"{schema}.{MEMORIES_TABLE}"
        self._known: frozenset[tuple[str, str]] = frozenset()
        self._lock = Lock()

    def has(self, session: Session, signature: str, identity: str) -> bool:
        """Return whether a run recorded that it built this table as the signature's memory."""
        with self._lock:
            if (signature, identity) not in self._known:
                found = self._read(
                    session, "SELECT signature, identity FROM", "deed = 'build' AND identity <> ''"
                )
                self._known = frozenset((str(one), str(whose)) for one, whose in found)
            return (signature, identity) in self._known

    def left_lately(self, session: Session, signatures: Iterable[str]) -> dict[str, str]:
        """Return, of these, the signatures that were weighed lately and left, with the reason."""
        found = self._read(
            session,
            "SELECT signature, max_by(reason, at) FROM",
            f"deed = 'leave' AND at > current_timestamp() - {AGAIN}"
            f" AND signature IN ({strings(signatures)}) GROUP BY signature",
        )
        return {str(signature): str(reason) for signature, reason in found}

    def append_deeds(self, session: Session, invocation_id: str, deeds: Sequence[Deed]) -> None:
        """Append an invocation's operations; nothing is written if there are none."""
        rows = [{"invocation_id": string(invocation_id), **_row(deed)} for deed in deeds]
        append_own(session, OwnTable(self.table, MEMORIES, COMMENT, MEMORIES), rows)

    def _read(self, session: Session, selected: str, where: str) -> list[tuple[Any, ...]]:
        """Return rows of the log; none where the table is missing, or of an earlier version."""
        try:
            return session.rows(f"{selected} {relation_name(self.table)} WHERE {where}")
        except Exception as error:
            if not_found(error) or lacks_column(error):
                return []
            raise


def _row(deed: Deed) -> dict[str, str]:
    return {
        "at": "current_timestamp()",
        "signature": string(deed.wanted.signature),
        "source": string(deed.wanted.sources),
        "conditions": string(json.dumps(deed.wanted.conditions, ensure_ascii=False)),
        "models": string(json.dumps(deed.models, ensure_ascii=False)),
        "deed": string(deed.action),
        "reason": string(deed.reason),
        "share": _number(deed.share),
        "seconds": _number(deed.seconds),
        "saved_seconds": _number(deed.saved),
        "identity": string(deed.identity),
    }


def _number(value: float | None) -> str:
    return "CAST(NULL AS DOUBLE)" if value is None else f"CAST({value:.6f} AS DOUBLE)"
