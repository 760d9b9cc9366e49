"""Memories of tables whose columns, or their types, are out of the ordinary."""

from __future__ import annotations

from typing import Any

import pytest
from tests.spark.run_world import World

TABLES = {
    "names that files do not take": (
        "id int, `a b` string, `x,y` int, ts timestamp",
        "m.`a b` = 'a'",
        "r.`x,y` = m.id",
    ),
    "names that are words": (
        "id int, `select` string, `a``.b` int, ts timestamp",
        "m.`select` = 'a'",
        "r.`a``.b` = m.id",
    ),
    "texts that are padded": (
        "id int, c char(5), parent int, ts timestamp",
        "m.c = 'a' and m.c in ('a', 'c')",
        "r.parent = m.id",
    ),
}


@pytest.mark.parametrize("title", TABLES)
def test_a_model_reads_its_memory(session: Any, schema: str, title: str) -> None:
    columns, own, joined = TABLES[title]
    mapped = "'delta.columnMapping.mode' = 'name'" if "," in columns.replace(", ", "") else ""
    more = f" tblproperties ({mapped})" if mapped else ""
    session.run(f"create table {schema}.messages ({columns}) using delta{more}")
    world = World(session, schema, keeps=True)
    world.add((1, "a", None, 0), (2, "b", None, 1))
    sql = f"select m.id, r.id as reply from {{s}}.messages m join {{s}}.messages r on {joined}"
    model = world.model(f"{sql} where {own}", memories=["m"], verify="full")
    world.run(model, 2)
    world.add((3, "b", 1, 5), (4, "a", 2, 5), (5, "b", 4, 5))
    world.recall = type(world.recall)()
    planned = world.plan_rows(model, 6)
    assert [request.found.reason for request in planned.requests if request.named] == [""]
    world.run(model, 6)
    assert world.answers(columns="id, reply") == [(1, 3, 5.0), (4, 5, 5.0)]
