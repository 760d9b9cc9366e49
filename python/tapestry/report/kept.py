"""Tables that runs keep between what they read and the models: memories, and states of groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tapestry.report.artifacts import Node

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


def with_kept(
    nodes: Mapping[str, Node], kept: Iterable[TableBetween]
) -> tuple[list[TableBetween], set[tuple[str, str]]]:
    """Return the kept tables that some of the nodes use, and the edges between all of them."""
    edges = {(p, name) for name, node in nodes.items() for p in node.parents if p in nodes}
    ids = {node.relation: name for name, node in nodes.items()}
    used = []
    # Memories first: sums then stand between them and their model.
    for one in sorted(kept, key=lambda one: (one.kind == SUMS, one.name)):
        if users := [ids[user] for user in one.users if user in ids]:
            used.append(one)
            edges = _between(edges, one, users, ids)
    return used, edges


def _between(
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
