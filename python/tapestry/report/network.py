"""The network: sources, what is kept of them, and the models; what reads what, and what it costs.

Nodes and edges are plain data. What is kept comes as `TableBetween` records: a memory is a copy of
what some models read of their sources (alpha: of one, beta: of a join), sums are the states of the
groups of one model. Each stands between what it is made of and who uses it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from difflib import get_close_matches
from typing import Any, Final

from tapestry.errors import ConfigurationError
from tapestry.report.artifacts import Artifacts, Node
from tapestry.report.graph import reached, relevant
from tapestry.report.kept import MEMORY, SUMS, TableBetween, with_kept
from tapestry.report.read import TableSize
from tapestry.report.record import Record, Run
from tapestry.runs.tables.beside_target import GROUPS

SOURCE, MODEL = "source", "model"
ORDER: Final = (SOURCE, MEMORY, SUMS, MODEL)

Sizes = Callable[[str], TableSize | None]
"""The size of a table by its name; None where there is none, or nothing is known."""


@dataclass(frozen=True)
class NetworkNode:
    """A box of the network; ``id`` is dbt's for a source or model, else the table's name."""

    id: str
    kind: str
    name: str
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Network:
    """Nodes by id, and edges from what is read to what reads it."""

    nodes: Mapping[str, NetworkNode]
    edges: tuple[tuple[str, str], ...]

    def parents(self) -> dict[str, list[str]]:
        """Return the nodes that each node reads."""
        return self._joined((end, start) for start, end in self.edges)

    def children(self) -> dict[str, list[str]]:
        """Return the nodes that read each node."""
        return self._joined(self.edges)

    def _joined(self, edges: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {name: [] for name in self.nodes}
        for start, end in edges:
            found[start].append(end)
        return found

    def around(self, node: str) -> Network:
        """Return the network of one node, all that it needs and all that needs it."""
        kept = reached([node], self.parents()) | reached([node], self.children())
        return Network(
            {name: one for name, one in self.nodes.items() if name in kept},
            tuple(edge for edge in self.edges if kept.issuperset(edge)),
        )


def make_network(
    artifacts: Artifacts, record: Record, sizes: Sizes, kept: Iterable[TableBetween] = ()
) -> Network:
    """The continuous models with all that they read and that reads them; what is kept between.

    ``kept`` of models that the project does not have is left out.
    """
    nodes = relevant(artifacts.nodes)
    runs: dict[str, list[Run]] = {}
    for run in record.runs:
        runs.setdefault(run.model, []).append(run)
    found = {
        name: _node(node, runs.get(node.relation, ()), record, sizes)
        for name, node in nodes.items()
    }
    used, edges = with_kept(nodes, kept)
    found |= {one.name: NetworkNode(one.name, one.kind, one.name, one.facts) for one in used}
    return Network(found, tuple(sorted(edges)))


def _node(node: Node, runs: Sequence[Run], record: Record, sizes: Sizes) -> NetworkNode:
    if node.kind != MODEL:
        return NetworkNode(node.id, SOURCE, node.relation, _size(sizes(node.relation)))
    facts: dict[str, Any] = {"materialized": node.materialized}
    if node.ours:
        facts |= _of_model(node, runs, record)
    return NetworkNode(node.id, MODEL, node.relation, facts)


def _of_model(node: Node, runs: Sequence[Run], record: Record) -> dict[str, Any]:
    row = record.queries.get(node.relation)
    good = next((run for run in reversed(runs) if not run.failed), None)
    last = runs[-1] if runs else None
    return {
        "priority": node.priority,
        "active": row is None or row.active,
        "why": "" if row is None else row.why,
        "strategy": None if good is None else good.strategy,
        "answers": None if good is None else good.came,
        "seconds": None if last is None else last.seconds,
        "last_run": None if last is None else last.ended_at,
        "failed": last is not None and last.failed,
        "runs": len(runs),
        "all_seconds": sum(run.seconds or 0 for run in runs),
    }


def _size(size: TableSize | None) -> dict[str, Any]:
    return {} if size is None else {"rows": size.rows, "files": size.files, "bytes": size.bytes}


def sums_of(artifacts: Artifacts, sizes: Sizes) -> list[TableBetween]:
    """Return the states of groups that models of the project keep, if their tables exist."""
    found = []
    for node in artifacts.nodes.values():
        if node.ours:
            name = GROUPS.table_of(node.relation)
            size = sizes(name)
            if size is not None:
                found.append(TableBetween(SUMS, name, (node.relation,), facts=_size(size)))
    return found


def find_model(artifacts: Artifacts, name: str) -> str:
    """The id of a source or model by its name, with or without its schema.

    Raises ConfigurationError, with near names, where the network has none.
    """
    known: dict[str, str] = {}
    for unique_id, node in relevant(artifacts.nodes).items():
        known[node.relation] = unique_id
        known.setdefault(node.relation.rpartition(".")[2], unique_id)
    wanted = name.removesuffix(".sql")
    if wanted in known:
        return known[wanted]
    near = get_close_matches(wanted, known, 1)
    some = ", ".join(sorted(known)[:10]) or "there is none yet"
    raise ConfigurationError(
        f"there is no {name} in the network of models that runs bring up to date",
        hint=f"did you mean {near[0]}?" if near else f"known: {some}",
    )


def described(network: Network) -> dict[str, Any]:
    """The network as plain data for JSON: instants are ISO 8601 in UTC, sizes are bytes."""
    return {
        "nodes": [
            {
                "id": node.id,
                "kind": node.kind,
                "name": node.name,
                **{
                    key: value.isoformat() if isinstance(value, datetime) else value
                    for key, value in node.facts.items()
                },
            }
            for node in sorted(
                network.nodes.values(), key=lambda node: (ORDER.index(node.kind), node.name)
            )
        ],
        "edges": [{"from": start, "to": end} for start, end in network.edges],
    }
