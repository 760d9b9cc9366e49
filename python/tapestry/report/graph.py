"""The graph of models as a drawing: what reads what, from the sources on the left to the right."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tapestry.report.artifacts import Artifacts, Node
from tapestry.report.plots import Plot, render
from tapestry.report.standing import GONE, LOOK, NEVER, NOT_WELL, WELL, Verdict
from tapestry.words import counted

ROW, GAP, LETTER, LONGEST = 30, 46, 6.6, 30
SIGNS = {NOT_WELL: "✕ ", LOOK: "! ", WELL: "✓ ", NEVER: "", GONE: "", "": ""}
_FILLS = {NOT_WELL: "bad", LOOK: "look", WELL: "ok", NEVER: "line", GONE: "line", "": "line"}

Point = tuple[float, float]
Box = dict[str, Any]
End = str | int  # a node, or a helper point of a long edge


@dataclass(frozen=True)
class Layout:
    """Where nodes are (column, row) and which points each edge passes, its two nodes included."""

    nodes: Mapping[str, tuple[int, float]]
    edges: Mapping[tuple[str, str], tuple[tuple[int, float], ...]]


def graph(verdict: Verdict, artifacts: Artifacts, anchors: Mapping[str, str]) -> Plot | None:
    """The continuous models with all that they read and that reads them.

    ``anchors``: where on the page a model is told about, by its name. None where there is no
    manifest, or no package that lays the graph out (it needs Python 3.11).
    """
    nodes = _relevant(artifacts.nodes)
    layout = _lay_out(nodes)
    if layout is None:
        return None
    states = {model.node.id: model.state for model in verdict.models if model.node}
    spec = _spec(nodes, layout, states, anchors)
    table = tuple(
        (
            node.relation,
            node.materialized or node.kind,
            states.get(name, ""),
            ", ".join(nodes[parent].relation for parent in node.parents if parent in nodes),
        )
        for name, node in sorted(nodes.items(), key=lambda item: item[1].relation)
    )
    continuous = sum(node.continuous for node in nodes.values())
    says = f"{counted(continuous, 'continuous model')} among {len(nodes)};"
    says += " what is read stands left of it"
    drawn = render(spec, "Models and sources", says)
    header = ("name", "kind", "state", "reads")
    return Plot("graph", "Models and sources", says, drawn, header, table)


def _relevant(nodes: Mapping[str, Node]) -> dict[str, Node]:
    """The continuous models, what they need, and what needs them."""
    children = defaultdict(list)
    for name, node in nodes.items():
        for parent in node.parents:
            children[parent].append(name)
    start = [name for name, node in nodes.items() if node.continuous]
    parents = {name: node.parents for name, node in nodes.items()}
    kept = _reached(start, parents) | _reached(start, children)
    return {name: node for name, node in nodes.items() if name in kept}


def _reached(start: Iterable[str], edges: Mapping[str, Sequence[str]]) -> set[str]:
    found: set[str] = set()
    left = list(start)
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left.extend(edges.get(name, ()))
    return found


def _lay_out(nodes: Mapping[str, Node]) -> Layout | None:
    """Layers and an order within them with few crossings (the method of Sugiyama et al.)."""
    edges = sorted({(p, name) for name, node in nodes.items() for p in node.parents if p in nodes})
    try:
        from fast_sugiyama import from_edges
    except ImportError:
        return None
    if not edges:
        return None
    places: dict[str, tuple[int, float]] = {}
    points: dict[tuple[str, str], list[tuple[int, float]]] = {}
    top = 0.0
    for positions, breadth, _, pieces in from_edges(edges, vertex_spacing=ROW, dummy_vertices=True):
        here = dict(positions)
        highest = max(y for _, y in here.values())
        left = min(x for x, _ in here.values())
        placed = {
            name: (round((highest - y) / ROW), x - left + top) for name, (x, y) in here.items()
        }
        places.update({name: at for name, at in placed.items() if isinstance(name, str)})
        points.update(_joined(pieces or (), placed))
        top += breadth + ROW
    return Layout(places, {edge: tuple(found) for edge, found in points.items()})


def _joined(
    pieces: Iterable[tuple[End, End]], placed: Mapping[End, tuple[int, float]]
) -> dict[tuple[str, str], list[tuple[int, float]]]:
    """Long edges come in pieces between helper points (numbers): put together again."""
    following = {start: end for start, end in pieces if not isinstance(start, str)}
    found = {}
    for start, end in pieces:
        if isinstance(start, str):
            way = [placed[start]]
            while not isinstance(end, str):
                way.append(placed[end])
                end = following[end]
            found[start, end] = [*way, placed[end]]
    return found


def _spec(
    nodes: Mapping[str, Node],
    layout: Layout,
    states: Mapping[str, str],
    anchors: Mapping[str, str],
) -> Box:
    """Boxes with names, and lines between them, in points of the drawing."""
    labels = {name: _label(node, states.get(name, "")) for name, node in nodes.items()}
    columns = _columns(layout, labels)
    boxes: list[Box] = []
    for name, (column, y) in layout.nodes.items():
        x, wide = columns[column]
        state = states.get(name, "")
        boxes.append(
            {
                "x": x,
                "x2": x + wide,
                "y": y + 14 - 11,
                "y2": y + 14 + 11,
                "text": labels[name],
                "color": f"var(--{_FILLS[state]})",
                "dash": [1, 0] if nodes[name].continuous else [3, 3],
                "link": f"#{anchors[nodes[name].relation]}"
                if nodes[name].relation in anchors
                else None,
                "tip": f"{nodes[name].relation}, {state or nodes[name].materialized or 'source'}",
            }
        )
    lines, heads = _lines(layout, columns)
    width = max((x + wide for x, wide in columns.values()), default=0) + 2
    height = max((box["y2"] for box in boxes), default=0) + 4
    return {"width": width, "height": height, "layer": _layers(boxes, lines, heads)}


_RAW = {"type": "quantitative", "scale": None, "axis": None}
_X, _Y = {"field": "x", **_RAW}, {"field": "y", **_RAW}
_AS_IT_IS = {"type": "nominal", "scale": None, "legend": None}


def _layers(boxes: list[Box], lines: list[Box], heads: list[Box]) -> list[Box]:
    """Edges first, so that boxes stand on them; names that lead somewhere are links."""
    linked = [box for box in boxes if box["link"]]
    plain = [box for box in boxes if not box["link"]]
    return [
        _edges(lines),
        _heads(heads),
        _rectangles(boxes),
        _names(plain, {}),
        _names(linked, {"href": {"field": "link", "type": "nominal"}}),
    ]


def _edges(lines: list[Box]) -> Box:
    mark = {"type": "line", "aria": False, "interpolate": "monotone", "strokeWidth": 1.2}
    return {
        "data": {"values": lines},
        "mark": {**mark, "color": "var(--edge)"},
        "encoding": {
            "x": _X,
            "y": _Y,
            "detail": {"field": "edge", "type": "nominal"},
            "order": {"field": "nth", "type": "quantitative"},
        },
    }


def _heads(heads: list[Box]) -> Box:
    mark = {"type": "point", "aria": False, "shape": "triangle-right", "filled": True}
    return {
        "data": {"values": heads},
        "mark": {**mark, "size": 34, "color": "var(--edge)", "opacity": 1},
        "encoding": {"x": _X, "y": _Y},
    }


def _rectangles(boxes: list[Box]) -> Box:
    return {
        "data": {"values": boxes},
        "mark": {"type": "rect", "cornerRadius": 5, "fill": "var(--card)", "strokeWidth": 1.5},
        "encoding": {
            "x": _X,
            "y": _Y,
            "x2": {"field": "x2"},
            "y2": {"field": "y2"},
            "stroke": {"field": "color", **_AS_IT_IS},
            "strokeDash": {"field": "dash", **_AS_IT_IS},
            "description": {"field": "tip"},
        },
    }


def _names(boxes: list[Box], link: Box) -> Box:
    mark = {"type": "text", "align": "left", "dx": 8, "dy": 11, "fontSize": 12}
    return {
        "data": {"values": boxes},
        "mark": {**mark, "color": "var(--ink)"},
        "encoding": {
            "x": _X,
            "y": _Y,
            "text": {"field": "text", "type": "nominal"},
            "description": {"field": "tip"},
            **link,
        },
    }


def _label(node: Node, state: str) -> str:
    name = node.relation if node.kind == "source" else node.relation.rpartition(".")[2]
    name = name if len(name) <= LONGEST else name[: LONGEST - 1] + "…"
    return SIGNS[state] + name


def _columns(layout: Layout, labels: Mapping[str, str]) -> dict[int, tuple[float, float]]:
    """Left edge and width of every column: as wide as its longest name."""
    widths: dict[int, float] = defaultdict(float)
    for name, (column, _) in layout.nodes.items():
        widths[column] = max(widths[column], len(labels[name]) * LETTER + 18)
    found, x = {}, 2.0
    for column in range(max(widths, default=-1) + 1):
        found[column] = (x, widths[column])
        x += widths[column] + GAP
    return found


def _lines(
    layout: Layout, columns: Mapping[int, tuple[float, float]]
) -> tuple[list[Box], list[Box]]:
    """From the right edge of what is read to the left edge of what reads it."""
    lines, heads = [], []
    for number, ((start, end), way) in enumerate(sorted(layout.edges.items())):
        column, row = layout.nodes[start]
        points: list[Point] = [(sum(columns[column]), row)]
        for column, row in way[1:-1]:
            x, wide = columns[column]
            points += [(x, row), (x + wide, row)]
        column, row = layout.nodes[end]
        points.append((columns[column][0] - 5, row))
        heads.append({"x": points[-1][0], "y": points[-1][1] + 14})
        lines += [
            {"edge": number, "nth": nth, "x": x, "y": y + 14} for nth, (x, y) in enumerate(points)
        ]
    return lines, heads
