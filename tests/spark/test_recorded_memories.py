"""A memory is believed where a run recorded that it built it: not a table that says the same."""

from __future__ import annotations

import logging

import pytest
from tests.spark.run_world import World
from tests.spark.test_memories import memories, run, second, third, wanted_by
from tests.spark.test_stored_joins import begun, name_of
from tests.spark.test_stored_joins import third as third_of_join

from tapestry.quoting import properties

pytestmark = pytest.mark.usefixtures("released")

NO_RUN_BUILT_IT = "no run recorded that it built it"


def posed(world: World, name: str, how: str, rows: str) -> None:
    """Put another table there that says of itself what the memory says, with other rows."""
    said = {str(key): str(value) for key, value in world.session.rows(f"show tblproperties {name}")}
    copied = properties({k: v for k, v in said.items() if k.startswith("tapestry.")})
    world.session.run(f"create table {name}_x using delta as select * from {name}")
    if how == "create":
        world.session.run(f"drop table {name}")
    world.session.run(
        f"{how} table {name} using delta tblproperties ({copied}) as"
        f" select * from {name}_x where {rows}"
    )
    world.session.run(f"drop table {name}_x")


@pytest.mark.parametrize("how", ["create or replace", "create"])
def test_a_table_that_poses_as_one_is_not_read(
    world: World, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    model, name = second(world, verify="off")
    posed(world, name, how, "id <> 4 and id <> 1")
    with caplog.at_level(logging.WARNING):
        assert third(world, model, "drop", "build") == "UNRECORDED"
    said = [one for one in caplog.messages if NO_RUN_BUILT_IT in one]
    assert said == [one for one in said if name in one]
    assert len(said) == 1
    assert sorted(world.session.rows(f"select id from {name}")) == [(1,), (3,), (4,), (7,)]
    world.add((20, "b", 1, 13))
    assert wanted_by(world, model, 14)[1] == ""


def test_a_stored_join_that_is_none_is_not_read(world: World) -> None:
    model = begun(world, verify="off")
    posed(world, name_of(world), "create or replace", "l_id <> 4")
    assert third_of_join(world, model, "flush", "flush", "drop", "build") == "UNRECORDED"


def test_of_a_side_that_is_none_no_pair_is_made(world: World) -> None:
    """A flush of a stored join reads old rows of the memories of its sides."""
    model = begun(world, verify="off")
    for name in memories(world):
        if name != name_of(world):
            posed(world, name, "create or replace", "id > 100")
    third_of_join(world, model, "drop", "build", "drop", "build", "flush")


def test_one_of_an_earlier_version_is_built_again_once(world: World) -> None:
    """It wrote no identities: as where its log is gone."""
    model, name = second(world)
    world.session.run(f"drop table {world.schema}.tapestry_memories")
    world.session.run(
        f"create table {world.schema}.tapestry_memories using delta as"
        f" select '{name[-32:]}' as signature, 'build' as deed, current_timestamp() as at"
    )
    assert third(world, model, "drop", "build") == "UNRECORDED"
    world.add((20, "b", 1, 13))
    assert wanted_by(world, model, 14)[1] == ""


def test_where_the_records_cannot_be_read_nothing_is_dropped(world: World) -> None:
    model, name = second(world)
    log = f"{world.schema}.tapestry_memories"
    world.session.run(f"drop table {log}")
    world.session.run(
        f"create view {log} as select cast(raise_error('no') as string) as signature,"
        " cast(raise_error('no') as string) as identity, 'build' as deed"
    )
    assert third(world, model) == "RECORDS_UNREAD"
    assert memories(world) == [name]


def test_the_records_are_read_once_by_a_process(world: World) -> None:
    def read() -> int:
        return sum("deed = 'build' AND identity" in one for one in world.session.texts)

    model, _ = second(world)  # before the first of its runs there was no memory to doubt
    assert read() == 1
    world.add((8, "b", 1, 11))
    run(world, model, 12)
    assert read() == 1
