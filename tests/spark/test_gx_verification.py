"""`ExpectEnough` and `ExpectNotTooMuch` by hand, on the table of a model."""

from __future__ import annotations

from typing import Any

import pytest
from tests.spark.run_world import UNANSWERED, World

gx = pytest.importorskip("great_expectations")


def test_by_hand(session: Any, schema: str, spark: Any) -> None:
    """A right table meets both; a row too many and one too few are told apart, with their rows."""
    from tapestry.expectations import ExpectEnough, ExpectNotTooMuch

    world = World(session, schema).create()
    world.add((4, "c", None, 6))
    world.run(world.model(UNANSWERED), 30)
    about = {
        "query": UNANSWERED.format(s=schema),
        "arrivals": {f"{schema}.messages": "ts"},
        "t": "2026-01-01 00:00:30",
    }
    context = gx.get_context(mode="ephemeral")
    definition = (
        context.data_sources.add_spark("spark")
        .add_dataframe_asset("rows")
        .add_batch_definition_whole_dataframe("all")
    )

    def validate(sql: str) -> list[Any]:
        batch = definition.get_batch({"dataframe": spark.sql(sql)})
        return [batch.validate(kind(**about)) for kind in (ExpectEnough, ExpectNotTooMuch)]

    table = f"select * from {schema}.target"
    right = validate(table)
    assert [found.success for found in right] == [True, True], right
    enough, not_too_much = validate(f"{table} where id <> 4")
    assert (enough.success, not_too_much.success) == (False, True)
    assert enough.result["partial_unexpected_list"][0]["id"] == "4"
    enough, not_too_much = validate(f"{table} union all {table} where id = 1")
    assert (enough.success, not_too_much.success) == (True, False)
