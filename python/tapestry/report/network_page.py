"""The network as one HTML file: a drawing, and the same as a table; it runs no script."""

from __future__ import annotations

from datetime import datetime

from tapestry.report.drawing import Card, draw
from tapestry.report.graph import LONGEST
from tapestry.report.kept import COLOURS
from tapestry.report.network import MODEL, SOURCE, Network, NetworkNode
from tapestry.report.network_text import HEADER, figures, says, table
from tapestry.report.page import environment
from tapestry.report.plots import Plot

EDGES = {SOURCE: "line", **COLOURS, MODEL: "s1"}
"""The colours of kinds, by their names in the style."""
TITLE = "What reads what"


def network_page(network: Network, project: str, schema: str, made_at: datetime) -> str:
    """Return the HTML."""
    edges = network.edges
    joined = {name for edge in edges for name in edge}
    cards = {name: _card(network.nodes[name]) for name in joined}
    told, rows = says(network), table(network)
    drawn = draw(cards, edges, TITLE, told)
    kinds = {node.kind for node in network.nodes.values()}
    return (
        environment()
        .get_template("network.html")
        .render(
            project=project,
            schema=schema,
            made_at=made_at,
            told=told,
            graph=None if drawn is None else Plot("network", TITLE, told, drawn, HEADER, rows),
            header=HEADER,
            rows=rows,
            legend=[(kind, color) for kind, color in EDGES.items() if kind in kinds],
        )
    )


def _card(node: NetworkNode) -> Card:
    name = node.name if node.kind == SOURCE else node.name.rpartition(".")[2]
    name = name if len(name) <= LONGEST else name[: LONGEST - 1] + "…"
    off = node.facts.get("active") is False
    failed = bool(node.facts.get("failed"))
    edge = "look" if off else "bad" if failed else EDGES[node.kind]
    ours = node.kind != MODEL or "priority" in node.facts
    why = node.facts.get("why") or ""
    other = node.facts.get("materialized") if node.kind == MODEL else "its size is not known"
    said = figures(node) or str(other)
    return Card(
        "‖ " * off + "✕ " * (failed and not off) + name,
        note=said,
        edge=edge,
        dashed=off or not ours,
        tip=f"{node.name}: {said}" + f": {why}" * bool(why),
    )
