"""Marks that several folders of tests share."""

from __future__ import annotations

from typing import Any

import pytest


def more(*values: Any) -> Any:
    """The parameters of a slow variant of what the gate tests already: ``make test-all`` has it."""
    return pytest.param(*values, marks=pytest.mark.more)
