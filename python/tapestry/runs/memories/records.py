"""Which tables runs have built as memories: a table is none because it says so.

Who can write to a schema can put a table with the name, the properties and the first commit of a
memory there. So a run writes down in ``tapestry_memories`` what it has built: the id of the Delta
table, the generation, and the version of the commit. A table that is made in its place has another
id, or, made by CREATE OR REPLACE, another version.
"""

from __future__ import annotations

from threading import Lock

from tapestry.names import MEMORIES_TABLE
from tapestry.quoting import relation_name
from tapestry.runs.engine.errors_of_delta import lacks_column, not_found
from tapestry.runs.engine.session import Session


def identity_of(table_id: str, generation: str, version: int) -> str:
    """What tells what one statement built from all other tables.

    >>> identity_of("5f0c", "12:4096:ab", 3)
    '5f0c 12:4096:ab 3'
    """
    return f"{table_id} {generation} {version:d}"


class Records:
    """What runs have recorded in a schema; read when first asked, and once more where it lacks
    what is asked for: another process may have built that meanwhile."""

    def __init__(self) -> None:
        self._known: frozenset[tuple[str, str]] = frozenset()
        self._lock = Lock()

    def have(self, session: Session, schema: str, signature: str, identity: str) -> bool:
        """Has a run recorded that it built this table as the memory of that signature?"""
        with self._lock:
            if (signature, identity) not in self._known:
                self._known = _recorded(session, schema)
            return (signature, identity) in self._known


def _recorded(session: Session, schema: str) -> frozenset[tuple[str, str]]:
    """Signatures and identities; none where there is no such table, or one without identities."""
    table = relation_name(f"{schema}.{MEMORIES_TABLE}")
    try:
        rows = session.rows(
            f"SELECT signature, identity FROM {table} WHERE deed = 'build' AND identity <> ''"
        )
    except Exception as error:
        if not_found(error) or lacks_column(error):
            return frozenset()
        raise
    return frozenset((str(signature), str(identity)) for signature, identity in rows)
