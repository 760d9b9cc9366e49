"""What dbt's graph says of the tables that a model reads."""

from __future__ import annotations

from typing import Any

import pytest

from dbt.adapters.tapestry.nodes import shown_model


def _graph(**said: str | None) -> dict[str, Any]:
    """Sources that all name one table, each with what it says of its rows' arrival."""
    return {
        "nodes": {"model.v": {"depends_on": {"nodes": ["source.b"]}, "config": {}}},
        "sources": {
            f"source.{name}": {"relation_name": "`s`.`M`", "loaded_at_field": column}
            for name, column in said.items()
        },
    }


@pytest.mark.parametrize(
    ("above", "arrivals"),
    [
        (["source.a"], ("ts",)),
        (["source.b"], ("seen",)),
        (["source.a", "source.b"], ("seen", "ts")),
        (["source.a", "model.v"], ("seen", "ts")),
        (["model.v"], ("seen",)),
        (["source.a", "source.quiet", "source.same"], ("ts",)),
        ([], ("seen", "ts")),
    ],
)
def test_of_entries_for_one_table_those_that_the_model_reads_count(
    above: list[str], arrivals: tuple[str, ...]
) -> None:
    graph = _graph(a="ts", b="seen", quiet=None, same="`TS`")
    node = {"name": "m", "depends_on": {"nodes": above}}
    assert shown_model(node, graph, "select 1").arrivals == {"s.m": arrivals}
