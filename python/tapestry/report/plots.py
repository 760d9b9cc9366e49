"""Plots as SVG: Vega-Lite specifications, rendered by Vega itself (vl-convert), no script left.

A drawing is made of CSS variables instead of colours, so that the page's style decides, for light,
dark and paper. Every mark says its numbers when pointed at (a ``title``); to a screen reader the
drawing is one image with a sentence, and the numbers follow as a table.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

from tapestry.errors import ConfigurationError

SVG = "http://www.w3.org/2000/svg"
XLINK = "http://www.w3.org/1999/xlink"
WIDTH, HEIGHT = 290, 120
VEGA_LITE = "5.21"
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_ALLOWED: list[str] = []  # a drawing must not load anything from elsewhere

_TEXT = {
    "labelColor": "var(--faint)",
    "titleColor": "var(--faint)",
    "labelFontSize": 11,
    "titleFontSize": 11,
    "titleFontWeight": "normal",
}
# Fonts of equal measures, one of which nearly every machine has: Vega measured with the first one.
CONFIG: Mapping[str, Any] = {
    "background": None,
    "font": "Liberation Sans, Arial, Helvetica, sans-serif",
    "view": {"stroke": None},
    "axis": {
        **_TEXT,
        "domainColor": "var(--line)",
        "tickColor": "var(--line)",
        "gridColor": "var(--line)",
        "gridOpacity": 0.6,
    },
    "axisX": {"grid": False},
    "legend": {
        **_TEXT,
        "orient": "top",
        "title": None,
        "symbolType": "square",
        "symbolSize": 70,
        "offset": 4,
    },
}


@dataclass(frozen=True)
class Plot:
    """A drawing with its text: ``says`` is its one sentence, ``table`` its numbers."""

    id: str
    title: str
    says: str
    svg: str
    header: tuple[str, ...]
    table: tuple[tuple[str, ...], ...]


def render(spec: Mapping[str, Any], title: str, says: str) -> str:
    """The SVG of a Vega-Lite specification.

    Raises ConfigurationError where vl-convert is not installed.
    """
    try:
        import vl_convert
    except ImportError as error:
        raise ConfigurationError(
            "the report needs the package vl-convert-python",
            hint='pip install "dbt-tapestry[report]"',
        ) from error
    whole = _without_controls({"config": CONFIG, "padding": 4, **spec})
    drawn = vl_convert.vegalite_to_svg(
        whole, vl_version=VEGA_LITE, allowed_base_urls=_ALLOWED, show_warnings=False
    )
    return _as_image(drawn, f"{title}: {says}")


def _without_controls(value: Any) -> Any:
    """Replace characters that XML cannot hold, in names and messages, by visible ones."""
    if isinstance(value, str):
        return _CONTROLS.sub("�", value)
    if isinstance(value, Mapping):
        return {name: _without_controls(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_without_controls(inner) for inner in value]
    return value


def bars(
    values: Sequence[Mapping[str, Any]],
    *,
    series: Sequence[str],
    colors: Sequence[str],
    step: Mapping[str, Any],
    unit: str,
    height: int = HEIGHT,
) -> dict[str, Any]:
    """Stacked bars over time: values have at, until (UTC ISO), series, y0, y1, tip."""
    axis = {"title": unit, "tickCount": 4, "format": "~s", "titleAnchor": "end"}
    axis["labelExpr"] = "datum.value ? datum.label : '0'"  # d3 writes 0k beside 1k
    top = max((value["y1"] for value in values), default=0)
    if unit != "seconds" and top < 4:  # counts are whole numbers
        axis["values"] = list(range(int(top) + 1))
    color: dict[str, Any] = {
        "field": "series",
        "type": "nominal",
        "scale": {"domain": list(series), "range": [f"var(--{name})" for name in colors]},
        "legend": {"columns": 2, "labelLimit": 150} if len(series) > 1 else None,
    }
    return {
        "width": WIDTH,
        "height": height,
        "data": {"values": list(values)},
        "mark": {"type": "rect", "stroke": "var(--card)", "strokeWidth": 0.75},
        "encoding": {
            "x": time_axis("at", step),
            "x2": {"field": "until"},
            "y": {
                "field": "y1",
                "type": "quantitative",
                "axis": axis,
            },
            "y2": {"field": "y0"},
            "color": color,
            "description": {"field": "tip"},
        },
    }


def time_axis(field: str, step: Mapping[str, Any]) -> dict[str, Any]:
    """A time axis in UTC; ``step`` says how its labels are written."""
    return {
        "field": field,
        "type": "temporal",
        "scale": {"type": "utc"},
        "axis": {"title": None, "tickCount": 5, "labelFlush": True, **step},
    }


def _as_image(svg: str, says: str) -> str:
    """One image for a screen reader; what a mark says becomes its title, shown when pointed at.

    A drawing with links in it is a group instead: what is inside an image cannot be reached.
    """
    ElementTree.register_namespace("", SVG)
    root = ElementTree.fromstring(svg)
    role = "img"
    for element in root.iter():
        said = element.attrib.pop("aria-label", None)
        for name in ("role", "aria-roledescription", "aria-hidden"):
            element.attrib.pop(name, None)
        if (link := element.attrib.pop(f"{{{XLINK}}}href", None)) is not None:
            # Vega makes an absolute address of a place on the page.
            element.set("href", f"#{link.rpartition('#')[2]}")
            role = "group"
        if said and element.tag != f"{{{SVG}}}g":
            title = ElementTree.Element(f"{{{SVG}}}title")
            title.text = said
            element.insert(0, title)
    root.attrib.update({"role": role, "aria-label": _without_controls(says), "class": "plot"})
    return ElementTree.tostring(root, encoding="unicode")
