"""Memories of sources: what a run reads in their place, and what becomes of it (network, 2)."""

from __future__ import annotations

from typing import Any

import pytest
from tests.killed import killed_at
from tests.spark.run_world import World, delete_folder

from tapestry.errors import ConfigurationError
from tapestry.names import MEMORY_PREFIX
from tapestry.runs.kinds.registry import execute, prepare
from tapestry.runs.memories import keep, write
from tapestry.runs.memories.definition import MemoryDefinition
from tapestry.runs.memories.keep import build, flush, keep_memories
from tapestry.runs.memories.log import Deed, MemoryLog
from tapestry.runs.memories.state import MemoryState, look_at
from tapestry.runs.model.model import Model
from tapestry.runs.protocol.outcome import Outcome
from tapestry.runs.tables.target import metadata

pytestmark = pytest.mark.usefixtures("released")

BUSY = (
    "select m.id, r.id as reply from {s}.messages m join {s}.messages r on r.parent = m.id"
    " where m.author = 'a' and r.id > 2"
)
"""The rows of m that matter are those of one author."""
MORE = [(4, "a", None, 7), (5, "b", 1, 8), (6, "b", 4, 8), (7, "a", 2, 8)]
SECOND = [(1, 5, 8.0), (4, 6, 8.0)]
THIRD = [(1, 5, 8.0), (1, 8, 11.0), (4, 6, 8.0)]


def run(world: World, model: Model, seconds: float) -> tuple[Outcome, tuple[Deed, ...]]:
    """One invocation, with what is done to memories at its end."""
    invocation = world.invocation(seconds)
    outcome = execute(world.session, prepare(world.session, model, invocation), invocation)
    return outcome, keep_memories(world.session, invocation.asked.requests, "test")


def did(deeds: tuple[Deed, ...]) -> list[str]:
    return [deed.action for deed in deeds]


def second(world: World, **config: Any) -> tuple[Model, str]:
    """A model after two runs, and its memory."""
    model = world.model(BUSY, **{"memories": ["m"], "verify": "full", **config})
    assert did(run(world, model, 6)[1]) == ["build"]
    assert world.answers(columns="id, reply") == []
    world.add(*MORE)
    assert did(run(world, model, 10)[1]) == ["flush"]
    assert world.answers(columns="id, reply") == SECOND
    return model, memories(world)[0]


def memories(world: World) -> list[str]:
    found = world.session.rows(f"show tables in {world.schema} like '{MEMORY_PREFIX}*'")
    return [f"{world.schema}.{row[1]}" for row in found]


def wanted_by(world: World, model: Model, seconds: float) -> tuple[MemoryDefinition, str]:
    """The memory that a run would ask for, and why it would not read it."""
    world.recall = type(world.recall)()  # an invocation looks at each memory once
    (request, *_) = [w for w in world.plan_rows(model, seconds).requests if w.use.written == "m"]
    assert request.wanted is not None
    return request.wanted, request.found.reason


def third(world: World, model: Model, *deeds: str) -> str:
    """The third run; why it reads no memory."""
    world.add((8, "b", 1, 11))
    _, reason = wanted_by(world, model, 12)
    assert did(run(world, model, 12)[1]) == list(deeds)
    assert world.answers(columns="id, reply") == THIRD
    return reason


def test_it_is_built_flushed_and_read(world: World) -> None:
    model, name = second(world)
    world.add((8, "b", 1, 11))
    planned = world.plan_rows(model, 12)
    (request,) = [request for request in planned.requests if request.found.relation]
    assert request.use.conditions == ("`author` = 'a'",)
    assert planned.rows.select.count(name.partition(".")[2]) == 1
    run(world, model, 12)
    assert world.answers(columns="id, reply") == THIRD
    assert sorted(world.session.rows(f"select id from {name}")) == [(1,), (3,), (4,), (7,)]


@pytest.mark.parametrize(
    "damage",
    [
        "delete from {t} where id = 1",
        "update {t} set author = 'b'",
        "insert into {t} select * from {t}",
        "restore table {t} to version as of 0",
        "alter table {t} add columns (more int)",
        "alter table {t} set tblproperties ('tapestry.generation' = '9:9:x')",
    ],
)
def test_one_that_somebody_changed_is_dropped_and_built_again(world: World, damage: str) -> None:
    model, name = second(world)
    world.session.run(damage.format(t=name))
    assert third(world, model, "drop", "build") == "FOREIGN_COMMIT"


def test_one_that_is_gone_is_built_again(world: World) -> None:
    model, name = second(world)
    world.session.run(f"drop table {name}")
    assert third(world, model, "build") == "NOT_BUILT_YET"


def test_compaction_of_either_harms_nothing(world: World) -> None:
    model, name = second(world)
    world.add((8, "b", 1, 11))
    world.session.run(f"optimize {name}")
    world.session.run(f"optimize {world.schema}.messages")
    assert wanted_by(world, model, 12)[1] == ""
    run(world, model, 12)
    assert world.answers(columns="id, reply") == THIRD


def test_rows_that_the_source_lost_leave_the_memory_at_once(world: World) -> None:
    model, name = second(world, on_source_rewrite="deletes_ok")
    world.session.run(f"delete from {world.schema}.messages where id = 4")
    assert third(world, model, "drop", "build") == "NOT_APPENDED_ONLY"
    assert sorted(world.session.rows(f"select id from {name}")) == [(1,), (3,), (7,)]
    assert len(world.session.rows(f"describe history {name}")) == 1


def test_late_rows_count_from_when_they_came(world: World) -> None:
    model, _ = second(world)
    world.add((8, "b", 7, 11), (9, "a", None, 3), (10, "b", 9, 4))
    assert wanted_by(world, model, 12)[1] == ""
    run(world, model, 12)
    found = world.answers(columns="id, reply")
    assert found == [*SECOND, (7, 8, 11.0), (9, 10, 10.000001)]
    world.add((11, "b", 9, 15))
    run(world, model, 20)
    assert world.answers(columns="id, reply") == [*found, (9, 11, 15.0)]


def test_a_full_refresh_reads_it_too(world: World) -> None:
    model, name = second(world)
    planned = prepare(world.session, model, world.invocation(12), full_refresh=True)
    assert name.partition(".")[2] in planned.rows.select  # type: ignore[union-attr]
    world.run(model, 12, full_refresh=True)
    assert world.answers(columns="id, reply") == SECOND


def test_a_full_refresh_that_does_without_it_is_one(world: World) -> None:
    _, name = second(world)
    invocation = world.invocation(12)
    sql = BUSY.replace("r.id > 2", "r.id > 5")
    other = world.model(sql, memories=["m"], on_query_change="continue")
    planned = prepare(world.session, other, invocation, full_refresh=True)
    delete_folder(world.session, name)
    execute(world.session, planned, invocation)
    assert world.answers(columns="id, reply") == SECOND[1:]


def test_of_two_flushes_one_lands(world: World) -> None:
    model, name = second(world)
    world.add((8, "a", None, 11))
    wanted, _ = wanted_by(world, model, 12)
    kept = look_at(world.session, wanted.name)
    assert isinstance(kept, MemoryState)
    flush(world.session, wanted, kept, MemoryLog(world.schema))
    flush(world.session, wanted, kept, MemoryLog(world.schema))
    found = [(1,), (3,), (4,), (7,), (8,)]
    assert sorted(world.session.rows(f"select id from {name}")) == found
    assert wanted_by(world, model, 12)[1] == ""


def test_a_flush_of_what_was_built_anew_meanwhile_is_left_out(world: World) -> None:
    model, _ = second(world)
    world.add((8, "b", 1, 11), (9, "a", None, 11))
    wanted, _ = wanted_by(world, model, 12)
    kept = look_at(world.session, wanted.name)
    assert isinstance(kept, MemoryState)
    built = [build(world.session, wanted, MemoryLog(world.schema))]
    assert flush(world.session, wanted, kept, MemoryLog(world.schema)) == []
    assert wanted_by(world, model, 12)[1] == "UNRECORDED"
    MemoryLog(world.schema).append_deeds(world.session, "test", built)
    assert wanted_by(world, model, 12)[1] == ""


def test_a_run_does_not_read_another_one_of_the_same_name_and_version(world: World) -> None:
    """Somebody drops it, and another process builds it anew: its version 0 is another one."""
    model = world.model(BUSY, memories=["m"])
    assert did(run(world, model, 6)[1]) == ["build"]
    world.add(*MORE)
    invocation = world.invocation(10)
    planned = prepare(world.session, model, invocation)
    wanted, _ = wanted_by(world, model, 10)
    world.session.run(f"drop table {wanted.name}")
    build(world.session, wanted, MemoryLog(world.schema))
    execute(world.session, planned, invocation)
    assert world.answers(columns="id, reply") == SECOND


def test_a_run_that_crashed_is_executed_again_below_a_newer_memory(world: World) -> None:
    model, _ = second(world)
    world.add((8, "b", 1, 11))
    with killed_at("claimed"):
        run(world, model, 12)
    world.add((9, "a", None, 13))
    other = world.model(BUSY, "other", memories=["m"])
    run(world, other, 14)
    world.recall = type(world.recall)()
    run(world, model, 14)
    assert world.answers(columns="id, reply") == THIRD


def test_a_run_that_crashed_has_the_aliases_of_then(world: World) -> None:
    """What the model names today is no fault of the query that is executed again."""
    model, _ = second(world)
    world.add((8, "b", 1, 11))
    with killed_at("claimed"):
        run(world, model, 12)
    renamed = BUSY.replace(" m.", " x.").replace("= m.", "= x.").replace("messages m", "messages x")
    later = world.model(renamed, memories=["x"], on_query_change="continue")
    world.recall = type(world.recall)()
    run(world, later, 14)
    assert world.answers(columns="id, reply") == THIRD


def test_one_without_rows_is_not_flushed_for_nothing(world: World) -> None:
    model = world.model("select m.id from {s}.messages m where m.author = 'z'", memories=["m"])
    assert did(run(world, model, 6)[1]) == ["build"]
    for seconds in (7, 8):
        world.add((seconds, "a", None, seconds))
        assert did(run(world, model, seconds + 1)[1]) == []


def test_many_flushes_are_made_one(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else each leaves a file to be read, and a commit to be looked at, for ever."""
    monkeypatch.setattr(keep, "FLUSHES", 2)
    monkeypatch.setattr(write, "FLUSH_COMMITS", 1)
    model, name = second(world)
    world.add((8, "a", None, 11))
    assert did(run(world, model, 12)[1]) == ["flush"]
    world.add((9, "b", 8, 13))
    assert did(run(world, model, 14)[1]) == ["build"]
    world.add((10, "b", 8, 15))
    wanted, reason = wanted_by(world, model, 16)
    kept = look_at(world.session, wanted.name)
    assert isinstance(kept, MemoryState)
    assert (reason, len(kept.covers)) == ("", 1)
    assert did(run(world, model, 16)[1]) == ["flush"]
    assert world.answers(columns="id, reply") == [*SECOND, (8, 9, 13.0), (8, 10, 15.0)]
    assert sorted(world.session.rows(f"select id from {name}")) == [(1,), (3,), (4,), (7,), (8,)]


@pytest.mark.parametrize("when", ["before it is planned", "after it was planned"])
def test_a_run_does_without_one_whose_folder_is_gone(world: World, when: str) -> None:
    model, name = second(world)
    world.add((8, "b", 1, 11))
    invocation = world.invocation(12)
    if when == "before it is planned":
        delete_folder(world.session, name)
    planned = prepare(world.session, model, invocation)
    if when == "after it was planned":
        delete_folder(world.session, name)
    execute(world.session, planned, invocation)
    assert world.answers(columns="id, reply") == THIRD
    assert "build" in did(keep_memories(world.session, invocation.asked.requests, "test"))
    assert world.session.rows(f"select count(*) from {name}") == [(4,)]


def test_one_that_lies_is_found_out_by_the_verification(world: World) -> None:
    """A commit that claims to be ours: the run is repeated without, and the memory dropped."""
    model, name = second(world)
    world.add((8, "b", 1, 11))
    wanted, _ = wanted_by(world, model, 12)
    kept = look_at(world.session, wanted.name)
    assert isinstance(kept, MemoryState)
    flush(world.session, wanted, kept, MemoryLog(world.schema))
    world.session.run(f"insert into {world.schema}.messages values (9, 'b', 3, {_ts(11)})")
    said = metadata(kept.generation, kept.newest.n + 2, "", {"t": "9:9999"})
    world.session.run(
        f"insert into {name} with ('userMetadata' = '{said}') (id, author, parent, ts)"
        f" select 3 as id, 'a' as author, 2 as parent, {_ts(5)} as ts"
    )
    run(world, model, 12)
    assert world.answers(columns="id, reply") == [*THIRD[:2], (3, 9, 11.0), THIRD[2]]


def _ts(seconds: int) -> str:
    return f"timestamp'2026-01-01 00:00:{seconds:02d}'"


def test_rows_that_have_ids_keep_them(session: Any, schema: str) -> None:
    world = World(session, schema)
    world.session.run(
        f"create table {schema}.messages (id int, author string, parent int, ts timestamp)"
        " using delta tblproperties ('delta.enableRowTracking' = 'true')"
    )
    world.add((1, "a", None, 0), (2, "b", None, 1), (3, "a", 2, 5))
    model, name = second(world)
    ids = f"select cast(_metadata.row_id as string) as _tap_row, id from {schema}.messages"
    assert not world.session.rows(f"select _tap_row, id from {name} except ({ids})")
    world.session.run(f"optimize {schema}.messages")
    third(world, model)
    world.release()


def test_models_share_one(world: World) -> None:
    model, name = second(world)
    other = world.model(
        "select m.id from {s}.messages m where m.author = 'a'", "other", memories=["m"]
    )
    planned = world.plan_rows(other, 12)
    assert name.partition(".")[2] in planned.rows.select
    run(world, model, 12)
    run(world, other, 12)
    assert memories(world) == [name]
    assert world.answers("other") == [(1, 0.0), (3, 5.0), (4, 7.0), (7, 8.0)]


def test_a_column_more_is_another_memory(world: World) -> None:
    model, _ = second(world)
    world.session.run(f"alter table {world.schema}.messages add columns (more int)")
    world.add_row(f"(8, 'b', 1, {_ts(11)}, 1)")
    assert wanted_by(world, model, 12)[1] == "NOT_BUILT_YET"
    run(world, model, 12)
    assert world.answers(columns="id, reply") == THIRD
    assert len(memories(world)) == 2


@pytest.mark.parametrize("how", ["off", "variable", "auto"])
def test_none_is_read_where_it_is_not_wanted(
    world: World, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    second(world)
    if how == "variable":
        monkeypatch.setenv("TAPESTRY_MEMORIES", "off")
    world.add((8, "b", 1, 11))
    model = world.model(BUSY, memories=["m"] if how == "variable" else how)
    planned = world.plan_rows(model, 12)
    reasons = {request.found.reason for request in planned.requests}
    assert reasons == ({"SMALL_SOURCE"} if how == "auto" else {"OFF"})
    assert MEMORY_PREFIX not in planned.rows.select
    assert did(run(world, model, 12)[1]) == []


def test_a_name_that_is_none_is_told(world: World) -> None:
    model = world.model(BUSY, memories=["m", "x"])
    with pytest.raises(ConfigurationError, match="x is no table that a memory can stand for") as e:
        run(world, model, 6)
    assert "m, r" in e.value.hint
