"""A map in a statement's result: as such, or as the text that a Thrift server makes of it."""

from __future__ import annotations

import json
import re
from typing import Any

_PAIRS = re.compile(r'[{,]"([^"]*)":"(.*?)"(?=,"[^"]*":|\}$)', re.DOTALL)
"""Key and value in a map as a Thrift server writes it."""


def as_map(value: Any) -> dict[str, Any]:
    """A map, as such or as text (thrift); {} for anything else.

    The text is JSON but for quotes in it, which a Thrift server does not escape: a value ends where
    another key or the map's end follows.
    """
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return dict(_PAIRS.findall(value)) if value.startswith("{") else {}
    return dict(value) if isinstance(value, dict | list) and value else {}
