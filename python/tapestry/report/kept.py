"""Tables that runs keep between what they read and the models: memories, and states of groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

MEMORY, SUMS = "memory", "sums"
COLOURS = {MEMORY: "s3", SUMS: "s4"}
"""Kind of table -> its colour in drawings, by the name in the style."""


@dataclass(frozen=True)
class TableBetween:
    """A table that keeps rows of some tables for some models.

    kind
        memory | sums.
    sources
        The tables that it is made of; of sums there are none: they stand before all that their
        model reads.
    facts
        What else is known of it, by name: rows, bytes, …
    """

    kind: str
    name: str
    users: tuple[str, ...]
    sources: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)


def between(
    edges: set[tuple[str, str]], kept: TableBetween, users: Sequence[str], ids: Mapping[str, str]
) -> set[tuple[str, str]]:
    """Return the edges with a kept table inserted between its sources and its users."""
    if kept.kind == SUMS:
        moved = {(start, end) for start, end in edges if end in users}
    else:
        sources = {ids[name] for name in kept.sources if name in ids}
        moved = {(start, user) for start in sources for user in users}
    made_of = {(start, kept.name) for start, _ in moved}
    return (edges - moved) | made_of | {(kept.name, user) for user in users}
