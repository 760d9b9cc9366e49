"""Functions of the user's own in queries of models."""

from __future__ import annotations

import pytest
from tests.spark.run_world import World

from tapestry.errors import Refusal


def test_a_function_of_ones_own_is_called_where_it_is_declared(world: World) -> None:
    named = f"{world.schema}.initial"
    world.session.run(f"create function {named}(a string) returns string return substr(a, 1, 1)")
    sql = (
        f"select m.id, {named}(m.author) as initial from {{s}}.messages m where not exists"
        f" (select 1 from {{s}}.messages r where {named}(r.author) = {named}(m.author)"
        " and r.ts > m.ts and r.ts < now())"
    )
    with pytest.raises(Refusal, match="not declared deterministic"):
        world.run(world.model(sql), 2)
    model = world.model(sql, verify="full", deterministic_functions=["initial"])
    for t in (2, 4, 20):
        world.run(model, t)
    assert world.answers(columns="id, initial") == [(1, "a", 0.0), (2, "b", 1.0), (3, "a", 5.0)]
    with pytest.raises(Refusal, match="not declared deterministic"):
        world.run(world.model(sql), 30)  # also where the process remembers the rewriting
