"""Draws the graph of models, from the sources on the left to their readers on the right."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from tapestry.report.artifacts import Artifacts, Node
from tapestry.report.drawing import Card, draw
from tapestry.report.kept import COLOURS, TableBetween, with_kept
from tapestry.report.plots import Plot
from tapestry.report.standing import GONE, LOOK, NEVER, NOT_WELL, WELL, Verdict
from tapestry.report.text import models_by_kind
from tapestry.words import size_text

LONGEST = 30
SIGNS = {NOT_WELL: "✕ ", LOOK: "! ", WELL: "✓ ", NEVER: "", GONE: "", "": ""}
_FILLS = {NOT_WELL: "bad", LOOK: "look", WELL: "ok", NEVER: "line", GONE: "line", "": "line"}


def graph(
    verdict: Verdict,
    artifacts: Artifacts,
    anchors: Mapping[str, str],
    kept: Iterable[TableBetween] = (),
) -> Plot | None:
    """The continuous models with all that they read and that reads them, and what is kept between.

    ``anchors``: where on the page a model is told about, by its name. None where there is no
    manifest, or no package that lays the graph out (it needs Python 3.11).
    """
    nodes = relevant(artifacts.nodes)
    states = {model.node.id: model.state for model in verdict.models if model.node}
    off = {model.node.id for model in verdict.models if model.node and model.off}
    cards = {
        name: _card(node, states.get(name, ""), name in off, anchors)
        for name, node in nodes.items()
    }
    used, edges = with_kept(nodes, kept)
    cards |= {one.name: _kept_card(one) for one in used}
    table = tuple(
        (
            node.relation,
            node.materialized or node.kind,
            "switched off" if name in off else states.get(name, ""),
            ", ".join(nodes[parent].relation for parent in node.parents if parent in nodes),
        )
        for name, node in sorted(nodes.items(), key=lambda item: item[1].relation)
    )
    ours = models_by_kind(node.materialized for node in nodes.values() if node.ours)
    says = f"{ours} among {len(nodes)}; what is read stands left of it"
    drawn = draw(cards, edges, "Models and sources", says)
    if drawn is None:
        return None
    header = ("name", "kind", "state", "reads")
    return Plot("graph", "Models and sources", says, drawn, header, table)


def relevant(nodes: Mapping[str, Node]) -> dict[str, Node]:
    """The continuous models, what they need, and what needs them."""
    children = defaultdict(list)
    for name, node in nodes.items():
        for parent in node.parents:
            children[parent].append(name)
    start = [name for name, node in nodes.items() if node.ours]
    parents = {name: node.parents for name, node in nodes.items()}
    kept = reached(start, parents) | reached(start, children)
    return {name: node for name, node in nodes.items() if name in kept}


def reached(start: Iterable[str], edges: Mapping[str, Sequence[str]]) -> set[str]:
    """Return the nodes that can be reached along the edges from the start, which is included."""
    found: set[str] = set()
    left = list(start)
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left.extend(edges.get(name, ()))
    return found


def _card(node: Node, state: str, off: bool, anchors: Mapping[str, str]) -> Card:
    anchor = anchors.get(node.relation)
    said = "switched off" if off else state or node.materialized or "source"
    return Card(
        SIGNS[state] + short(node),
        edge=_FILLS[state],
        dashed=not node.ours,
        link=None if anchor is None else f"#{anchor}",
        tip=f"{node.relation}, {said}",
    )


def _kept_card(kept: TableBetween) -> Card:
    size = kept.facts.get("bytes")
    name = kept.name.rpartition(".")[2]
    said = kept.kind if size is None else f"{kept.kind}, {size_text(size)}"
    rows = " and ".join(kept.facts.get("conditions") or ())
    return Card(said, edge=COLOURS[kept.kind], dashed=True, tip=f"{name}: {rows}" if rows else name)


def short(node: Node) -> str:
    """Return the name of a node in its box."""
    name = node.relation if node.kind == "source" else node.relation.rpartition(".")[2]
    return name if len(name) <= LONGEST else name[: LONGEST - 1] + "…"
