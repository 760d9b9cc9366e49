"""Sizes on the command line: `256MiB`, `2 GB`, `1000000`."""

from __future__ import annotations

import re
from typing import Any

import click

_UNITS = {"": 1, "B": 1}
for _power, _letter in enumerate("KMGT", 1):
    _UNITS |= {_letter: 2 ** (10 * _power), f"{_letter}IB": 2 ** (10 * _power)}
    _UNITS[f"{_letter}B"] = 10 ** (3 * _power)
_SIZE = re.compile(r"\s*([0-9]{1,15})\s*([A-Z]*)\s*")


class Size(click.ParamType):  # type: ignore[type-arg]
    """A whole number of bytes, at least one, with or without a unit."""

    name = "size"

    def convert(self, value: Any, param: Any, context: Any) -> int:
        """The number of bytes; click's usage error for what is no size."""
        if isinstance(value, int):
            return value
        found = _SIZE.fullmatch(str(value).upper())
        if not found or found[2] not in _UNITS or not int(found[1]):
            self.fail(f"{value!r} is no size: write it like 256MiB, 2GB or 1000000", param, context)
        return int(found[1]) * _UNITS[found[2]]
