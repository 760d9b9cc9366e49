"""Draws boxes and lines between them: nodes stand left of those that read them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tapestry.report.plots import render

GAP, LETTER = 46, 6.6
HALF, HALF_WITH_NOTE = 11, 19
"""Half of a box's height, in points."""
BETWEEN = 8

Point = tuple[float, float]
Box = dict[str, Any]
End = str | int  # a box, or a helper point of a long edge


@dataclass(frozen=True)
class Card:
    """The content of a box.

    note
        A second, smaller line.
    edge
        The colour of its border, by its name in the style.
    """

    label: str
    note: str = ""
    edge: str = "line"
    dashed: bool = False
    link: str | None = None
    tip: str = ""


@dataclass(frozen=True)
class Layout:
    """The places of boxes (column, row), and the points that each edge passes, ends included."""

    nodes: Mapping[str, tuple[int, float]]
    edges: Mapping[tuple[str, str], tuple[tuple[int, float], ...]]


def draw(
    cards: Mapping[str, Card], edges: Iterable[tuple[str, str]], title: str, says: str
) -> str | None:
    """Return the drawing as SVG; None if nothing is joined.

    None, too, if no package lays it out (it needs Python 3.11).
    """
    half = HALF_WITH_NOTE if any(card.note for card in cards.values()) else HALF
    layout = _lay_out(sorted(set(edges)), 2 * half + BETWEEN)
    return None if layout is None else render(_spec(cards, layout, half), title, says)


def _lay_out(edges: list[tuple[str, str]], row: int) -> Layout | None:
    """Compute layers and an order in them with few crossings (the method of Sugiyama et al.)."""
    try:
        from fast_sugiyama import from_edges
    except ImportError:
        return None
    if not edges:
        return None
    places: dict[str, tuple[int, float]] = {}
    points: dict[tuple[str, str], list[tuple[int, float]]] = {}
    top = 0.0
    for positions, breadth, _, pieces in from_edges(edges, vertex_spacing=row, dummy_vertices=True):
        here = dict(positions)
        highest = max(y for _, y in here.values())
        left = min(x for x, _ in here.values())
        placed = {
            name: (round((highest - y) / row), x - left + top) for name, (x, y) in here.items()
        }
        places.update({name: at for name, at in placed.items() if isinstance(name, str)})
        points.update(join_pieces(pieces or (), placed))
        top += breadth + row
    return Layout(places, {edge: tuple(found) for edge, found in points.items()})


def join_pieces(
    pieces: Iterable[tuple[End, End]], placed: Mapping[End, tuple[int, float]]
) -> dict[tuple[str, str], list[tuple[int, float]]]:
    """Join the pieces in which long edges come, between helper points (numbers)."""
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


def _spec(cards: Mapping[str, Card], layout: Layout, half: int) -> Box:
    """Return boxes with names, and lines between them, in points of the drawing."""
    columns = _columns(layout, cards)
    middle = half + 3
    boxes: list[Box] = []
    for name, (column, y) in layout.nodes.items():
        (x, wide), card = columns[column], cards[name]
        boxes.append(
            {
                "x": x,
                "x2": x + wide,
                "y": y + middle - half,
                "y2": y + middle + half,
                "text": card.label,
                "note": card.note,
                "color": f"var(--{card.edge})",
                "dashed": card.dashed,
                "link": card.link,
                "tip": card.tip,
            }
        )
    lines, heads = _lines(layout, columns, middle)
    width = max((x + wide for x, wide in columns.values()), default=0) + 2
    height = max((box["y2"] for box in boxes), default=0) + 4
    return {"width": width, "height": height, "layer": _layers(boxes, lines, heads)}


_RAW = {"type": "quantitative", "scale": None, "axis": None}
_X, _Y = {"field": "x", **_RAW}, {"field": "y", **_RAW}
_AS_IT_IS = {"type": "nominal", "scale": None, "legend": None}


def _layers(boxes: list[Box], lines: list[Box], heads: list[Box]) -> list[Box]:
    """Return edges first, so that boxes cover them; names with a link are links."""
    linked = [box for box in boxes if box["link"]]
    plain = [box for box in boxes if not box["link"]]
    noted = [box for box in boxes if box["note"]]
    return [
        _edges(lines),
        _heads(heads),
        *(_rectangles(found, dash) for dash, found in _by_dash(boxes)),
        _names(plain, {}),
        _names(linked, {"href": {"field": "link", "type": "nominal"}}),
        *([_notes(noted)] if noted else []),
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


def _by_dash(boxes: list[Box]) -> list[tuple[list[int], list[Box]]]:
    """Return solid borders, then dashed ones, as Vega-Lite cannot take dashes from data."""
    kinds = ([box for box in boxes if box["dashed"] is dashed] for dashed in (False, True))
    return [(dash, found) for dash, found in zip(([1, 0], [4, 3]), kinds, strict=True) if found]


def _rectangles(boxes: list[Box], dash: list[int]) -> Box:
    mark = {"type": "rect", "cornerRadius": 5, "fill": "var(--card)", "strokeWidth": 1.5}
    return {
        "data": {"values": boxes},
        "mark": {**mark, "strokeDash": dash},
        "encoding": {
            "x": _X,
            "y": _Y,
            "x2": {"field": "x2"},
            "y2": {"field": "y2"},
            "stroke": {"field": "color", **_AS_IT_IS},
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


def _notes(boxes: list[Box]) -> Box:
    mark = {"type": "text", "align": "left", "dx": 8, "dy": 27, "fontSize": 10.5}
    return {
        "data": {"values": boxes},
        "mark": {**mark, "color": "var(--faint)", "aria": False},
        "encoding": {"x": _X, "y": _Y, "text": {"field": "note", "type": "nominal"}},
    }


def _columns(layout: Layout, cards: Mapping[str, Card]) -> dict[int, tuple[float, float]]:
    """Return the left edge and width of every column: as wide as its longest name."""
    widths: dict[int, float] = defaultdict(float)
    for name, (column, _) in layout.nodes.items():
        longest = max(len(cards[name].label), 0.86 * len(cards[name].note))
        widths[column] = max(widths[column], longest * LETTER + 18)
    found, x = {}, 2.0
    for column in range(max(widths, default=-1) + 1):
        found[column] = (x, widths[column])
        x += widths[column] + GAP
    return found


def _lines(
    layout: Layout, columns: Mapping[int, tuple[float, float]], middle: int
) -> tuple[list[Box], list[Box]]:
    """Return lines from the right edge of a node to the left edge of its reader."""
    lines, heads = [], []
    for number, ((start, end), way) in enumerate(sorted(layout.edges.items())):
        column, row = layout.nodes[start]
        points: list[Point] = [(sum(columns[column]), row)]
        for column, row in way[1:-1]:
            x, wide = columns[column]
            points += [(x, row), (x + wide, row)]
        column, row = layout.nodes[end]
        points.append((columns[column][0] - 5, row))
        heads.append({"x": points[-1][0], "y": points[-1][1] + middle})
        lines += [
            {"edge": number, "nth": nth, "x": x, "y": y + middle}
            for nth, (x, y) in enumerate(points)
        ]
    return lines, heads
