"""A comment that is longer than Hive has room for in its catalog."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest

from dbt.adapters.tapestry.catalog import take_long_comments


@pytest.mark.parametrize(("length", "altered"), [(None, 0), (256, 1), (1048576, 0)])
def test_the_column_is_made_wider_once_it_is_there(length: int | None, altered: int) -> None:
    connection: Any = MagicMock()
    statement = connection.createStatement()
    statement.executeQuery().next.return_value = length is not None
    statement.executeQuery().getLong.return_value = length
    take_long_comments(SimpleNamespace(_tapestry_catalog=connection))
    assert statement.execute.call_count == altered


def test_a_catalog_of_somebody_else_is_left_alone() -> None:
    take_long_comments(SimpleNamespace())
