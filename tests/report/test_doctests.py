"""The examples in the docstrings of the report hold."""

from __future__ import annotations

import doctest
import importlib

import pytest


@pytest.mark.parametrize("name", ["text", "record", "buckets", "figures"])
def test_examples(name: str) -> None:
    failed, tried = doctest.testmod(importlib.import_module(f"tapestry.report.{name}"))
    assert tried
    assert not failed
