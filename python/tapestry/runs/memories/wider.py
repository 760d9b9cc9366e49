"""Finds memories with more rows than a use needs: one may serve many uses (network, section 3).

All conditions of a use stay in its query, so that a memory of rows for which fewer of them hold, or
weaker ones, gives the same answers.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tapestry.runs.engine.session import Session
from tapestry.runs.engine.values import as_list
from tapestry.runs.memories.definition import MemoryDefinition
from tapestry.runs.memories.survey import memory_names, said_of
from tapestry.sql.look.implied import all_implied

logger = logging.getLogger(__name__)

MOST = 100
"""So many memories of a schema are looked at."""


@dataclass(frozen=True)
class Present:
    """An existing memory, by its own properties."""

    name: str
    table_id: str
    conditions: tuple[str, ...]


def present(session: Session, schema: str) -> tuple[Present, ...]:
    """Return the memories of single sources in a schema, without those that cannot be read."""
    found = []
    for name in memory_names(session, schema)[:MOST]:
        try:
            said = said_of(session, name)
            if said is not None and not said.get("joined"):
                conditions = tuple(map(str, as_list(said["conditions"])))
                found.append(Present(name, str(said["table_id"]), conditions))
        except Exception as error:
            logger.debug("the memory %s cannot be read: %s", name, error)
    return tuple(found)


def wider_than(wanted: MemoryDefinition, there: Iterable[Present]) -> Iterator[MemoryDefinition]:
    """Yield the definitions of the existing memories that have all wanted rows."""
    for one in there:
        if one.table_id != wanted.side.table.table_id or one.name == wanted.name:
            continue
        held = wanted.narrowed(one.conditions)
        # Its name says that it was made for these conditions, columns and settings.
        if held.name == one.name and serves(held, wanted):
            yield held


def serves(held: MemoryDefinition, wanted: MemoryDefinition) -> bool:
    """Return whether a memory holds each row that another one would."""
    if wanted.narrowed(held.conditions).signature != held.signature:
        return False
    zone, *_ = wanted.session
    return all_implied(held.conditions, wanted.conditions, wanted.side.table.columns, zone)
