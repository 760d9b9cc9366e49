"""The network as text: a tree for a terminal, and figures beside a name."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from tapestry.report.network import MODEL, ORDER, SOURCE, Network, NetworkNode
from tapestry.report.text import models_by_kind, number, seconds
from tapestry.words import counted, printable, size_text


def figures(node: NetworkNode) -> str:
    """Return the known figures of a node, in a few words."""
    facts = node.facts
    if node.kind != MODEL:
        known = [counted(facts["rows"], "row")] if facts.get("rows") is not None else []
        known += [counted(facts["files"], "file")] if facts.get("files") is not None else []
        known += [size_text(facts["bytes"])] if facts.get("bytes") is not None else []
        known += [_share(facts["share"])] if facts.get("share") is not None else []
        if facts.get("saved_seconds") is not None:
            known.append(f"saves about {seconds(facts['saved_seconds'])} a run")
        if facts.get("spent_seconds"):
            known.append(f"cost {seconds(facts['spent_seconds'])} so far")
        rows = printable(" and ".join(facts.get("conditions") or ()))
        return ", ".join(known) + f": {rows}" * bool(rows)
    if "priority" not in facts:
        return ""
    parts = [f"priority {facts['priority']}"] * bool(facts["priority"])
    parts += ["switched off"] * (not facts["active"])
    parts += ["failed"] * facts["failed"]
    parts += [str(facts["strategy"])] if facts["strategy"] else []
    if facts["answers"] is not None:
        parts.append(counted(facts["answers"], "answer"))
    parts += [seconds(facts["seconds"])] if facts["seconds"] is not None else []
    return ", ".join(parts or ["never run"])


def _share(share: float) -> str:
    return f"{share:.2%} of its source"


def tree(network: Network) -> list[str]:
    """The network from its sources on, a line a node.

    What a node is read by stands under it once: where it comes again, a line says so.
    """
    lines: list[str] = []
    children, parents = network.children(), network.parents()
    seen: set[str] = set()
    for name in sorted(network.nodes, key=lambda one: _place(network, one)):
        if not parents[name]:
            lines += _branch(network, children, name, "", "", seen)
    return lines


def _branch(
    network: Network,
    children: dict[str, list[str]],
    name: str,
    before: str,
    under: str,
    seen: set[str],
) -> Iterator[str]:
    below = sorted(children[name], key=lambda one: _place(network, one))
    again = name in seen
    seen.add(name)
    yield before + _line(network.nodes[name]) + " (see above)" * (again and bool(below))
    if again:
        return
    for at, child in enumerate(below, 1):
        last = at == len(below)
        mark, rest = ("└─ ", "   ") if last else ("├─ ", "│  ")
        yield from _branch(network, children, child, under + mark, under + rest, seen)


def _line(node: NetworkNode) -> str:
    kind = node.facts.get("materialized", node.kind) if node.kind == MODEL else node.kind
    said = figures(node)
    return f"{printable(node.name)}  [{kind}]" + f"  {said}" * bool(said)


def _place(network: Network, name: str) -> tuple[int, int, str]:
    """Return a sort key: kinds in their order, models of greater priority first."""
    node = network.nodes[name]
    return ORDER.index(node.kind), -int(node.facts.get("priority") or 0), node.name


def table(network: Network) -> tuple[tuple[str, ...], ...]:
    """Return one row for each node, for those who do not look at the drawing."""
    parents = network.parents()
    return tuple(
        (
            node.name,
            str(node.facts.get("materialized") or node.kind),
            figures(node),
            _when(node.facts.get("last_run")),
            number(node.facts.get("runs")),
            seconds(node.facts.get("all_seconds") or None),
            str(node.facts.get("why") or ""),
            ", ".join(network.nodes[one].name for one in parents[name]),
        )
        for name, node in sorted(network.nodes.items(), key=lambda item: _place(network, item[0]))
    )


HEADER = ("name", "kind", "figures", "last run", "runs", "all runs", "off because", "reads")


def _when(moment: object) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S}" if isinstance(moment, datetime) else "–"


def says(network: Network) -> str:
    """Return one sentence about the network."""
    kinds = [node.kind for node in network.nodes.values()]
    models = [node for node in network.nodes.values() if "priority" in node.facts]
    off = sum(not node.facts["active"] for node in models)
    ours = models_by_kind(str(node.facts["materialized"]) for node in models)
    text = f"{counted(kinds.count(SOURCE), 'source')}, {ours}"
    kept = sum(kind not in (SOURCE, MODEL) for kind in kinds)
    text += f" ({off} switched off)" * bool(off)
    return text + f", {counted(kept, 'table')} kept between them" * bool(kept)
