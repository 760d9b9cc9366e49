"""Targets that somebody else touched, copied, dropped or made (semantics, section 3)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.spark.run_world import ALL, World, delete_folder, forget, ids

from tapestry.errors import StateMissing, TargetChanged
from tapestry.runs.tables.target import Commit, Written, refuse_foreign


@pytest.fixture
def world(session: Any, schema: str) -> World:
    world = World(session, schema).create()
    for t in (0.5, 1.5):
        world.run(world.model(ALL), t)
    return world


FOREIGN = [
    "insert into {t} values (9, 'x', current_timestamp())",
    "delete from {t} where id = 1",
    "update {t} set author = 'x'",
    "restore table {t} to version as of 0",
    "truncate table {t}",
]


@pytest.mark.parametrize("statement", FOREIGN)
def test_a_foreign_write_is_refused_unless_accepted(world: World, statement: str) -> None:
    target = f"{world.schema}.target"
    world.session.run(statement.format(t=target))
    before = ids(world.answers())
    with pytest.raises(
        TargetChanged, match=statement.split()[0].upper().replace("INSERT", "WRITE")
    ):
        world.run(world.model(ALL), 9)
    accepting = world.model(ALL, on_target_change="accept")
    world.run(accepting, 9)
    assert ids(world.answers()) == sorted([*before, 3])
    world.run(world.model(ALL), 12)  # what was accepted once is not asked about again


def test_the_way_back_leads_behind_all_foreign_writes(world: World) -> None:
    """Found by hand: after a second foreign write the hint named the version with the first."""
    target = f"{world.schema}.target"
    before, version = ids(world.answers()), world.versions() - 1
    world.session.run(f"insert into {target} values (9, 'x', current_timestamp())")
    world.session.run(f"restore table {target} to version as of 0")
    with pytest.raises(TargetChanged) as refused:
        world.run(world.model(ALL), 9)
    assert f"else restore version {version} and accept that" in str(refused.value.hint)
    world.session.run(f"restore table {target} to version as of {version}")
    world.run(world.model(ALL, on_target_change="accept"), 9)
    assert ids(world.answers()) == [*before, 3]


def test_there_is_no_way_back_behind_a_run_of_ours() -> None:
    def commit(version: int, n: int | None) -> Commit:
        return Commit(version, "WRITE", "g" if n else None, n, None, Written(1))

    commits = [commit(4, 3), commit(3, None), commit(2, 2)]
    with pytest.raises(TargetChanged, match="is its version 3") as refused:
        refuse_foreign("s.t", commits, "g", "fail")
    assert "restore version" not in str(refused.value.hint)
    assert refuse_foreign("s.t", commits, "g", "accept")
    assert not refuse_foreign("s.t", [commits[0], commits[2]], "g", "fail")


def test_what_a_run_without_anything_new_accepted_is_not_asked_again(world: World) -> None:
    """Found by hand: "nothing new" was said, and the next run refused the same write again."""
    world.run(world.model(ALL), 9)
    world.session.run(f"delete from {world.schema}.target where id = 1")
    accepting = world.model(ALL, on_target_change="accept")
    assert world.run(accepting, 10).rows == 0
    assert world.run(accepting, 11).action == "nothing", "once is enough"
    world.recall = type(world.recall)()
    assert world.run(world.model(ALL), 12).action == "nothing"
    assert ids(world.answers()) == [2, 3]


def test_maintenance_is_nobody_s_business(world: World) -> None:
    for statement in (
        "optimize {t}",
        "vacuum {t}",
        "alter table {t} set tblproperties ('team' = 'us')",
        "alter table {t} change column id comment 'the id'",
        "alter table {t} add constraint known check (id > 0)",
        "alter table {t} add columns (note string)",
    ):
        world.session.run(statement.format(t=f"{world.schema}.target"))
    world.run(world.model(ALL), 9)
    assert ids(world.answers()) == [1, 2, 3]


def test_a_log_that_was_cleaned_up_does_not_matter(world: World) -> None:
    target = f"{world.schema}.target"
    world.session.run(f"alter table {target} set tblproperties ('delta.checkpointInterval' = '1')")
    for n in range(2):
        world.session.run(f"alter table {target} set tblproperties ('n' = '{n}')")
    location = world.session.rows(f"describe detail {target}")[0][4]
    log = Path(str(location).removeprefix("file:")) / "_delta_log"
    for version in range(world.versions() - 1):
        (log / f"{version:020d}.json").unlink()
    world.recall = type(world.recall)()
    world.run(world.model(ALL), 9)
    assert ids(world.answers()) == [1, 2, 3]


def test_dropped_by_hand_means_built_again(world: World) -> None:
    world.session.run(f"drop table {world.schema}.target")
    assert world.run(world.model(ALL), 9).action == "create"
    assert ids(world.answers()) == [1, 2, 3]


def test_a_table_that_no_run_made(world: World) -> None:
    target = f"{world.schema}.target"
    world.session.run(f"create or replace table {target} using delta as select * from {target}")
    with pytest.raises(StateMissing, match="no run of this model made"):
        world.run(world.model(ALL), 9)
    assert world.run(world.model(ALL), 9, full_refresh=True).action == "create"


def test_copies_have_no_runs(world: World) -> None:
    schema = world.schema
    world.session.run(f"create table {schema}.other shallow clone {schema}.target")
    with pytest.raises(StateMissing, match="copy of"):
        world.run(world.model(ALL, "other"), 9)


@pytest.mark.parametrize("runs", [1, 2])
def test_a_copy_under_the_old_name(session: Any, schema: str, runs: int) -> None:
    world = World(session, schema).create()
    for t in range(runs):
        world.run(world.model(ALL), t + 1)
    session.run(f"create table {schema}.backup shallow clone {schema}.target")
    session.run(f"drop table {schema}.target")
    session.run(f"create table {schema}.target shallow clone {schema}.backup")
    world.recall = type(world.recall)()
    with pytest.raises((StateMissing, TargetChanged)):
        world.run(world.model(ALL), 9)


def test_state_gone(world: World) -> None:
    world.session.run(f"drop table {world.schema}.tapestry_state")
    with pytest.raises(StateMissing, match="tapestry_state is gone"):
        world.run(world.model(ALL), 9)  # it remembers: the rows are there, its own row is not
    with pytest.raises(StateMissing, match="knows nothing of"):
        world.run(world.model(ALL), 10)
    world.run(world.model(ALL), 9, full_refresh=True)
    assert ids(world.answers()) == [1, 2, 3]


def test_a_table_in_its_folder_that_the_catalog_does_not_know(world: World) -> None:
    """The catalog was lost, say: a run does not write over answers that are there."""
    world.add((4, "d", None, 7))
    schema, session = world.schema, world.session
    session.run(f"create table {schema}.hidden using delta as select * from {schema}.target")
    for name in ("target", "hidden"):
        forget(session, f"{schema}.{name}")
    for name in ("hidden", "target"):
        with pytest.raises(TargetChanged, match=r"in its folder .* lies a Delta table") as told:
            world.run(world.model(ALL, name), 9)
    session.run(str(told.value.hint).split("the model's, ")[1].split("; else")[0])
    assert ids(world.answers()) == [1, 2]
    assert world.run(world.model(ALL), 9).rows == 2
    assert ids(world.answers()) == [1, 2, 3, 4]


def test_its_folder_deleted(world: World) -> None:
    """Unlike a dropped table it may come back: on storage that is away for a while."""
    delete_folder(world.session, f"{world.schema}.target")
    with pytest.raises(TargetChanged, match="but its folder is gone") as error:
        world.run(world.model(ALL), 9)
    assert "--full-refresh" in str(error.value.hint)
    world.run(world.model(ALL), 9, full_refresh=True)
    assert ids(world.answers()) == [1, 2, 3]


@pytest.mark.parametrize(
    ("beside", "error", "says"),
    [
        ("__rejected", TargetChanged, "the catalog knows .*__rejected, but its folder is gone"),
        ("__late_", StateMissing, "__late_.* is gone"),
    ],
)
def test_the_folder_of_a_table_beside_it_deleted(
    session: Any, schema: str, beside: str, error: type[Exception], says: str
) -> None:
    """The run stops; a full refresh makes the table again, and the next ones write to it."""
    world = World(session, schema).create()
    drop = {"name": "not_one", "expect": "id <> 1", "on_violation": "drop"}
    model = world.model(ALL, expectations=[drop])
    world.run(model, 6)
    world.add((4, "late", None, 2))
    world.run(model, 7)
    (name,) = (row[1] for row in session.rows(f"show tables in {schema}") if beside in row[1])
    delete_folder(session, f"{schema}.{name}")
    world.add((1, "again", None, 8))
    with pytest.raises(error, match=says) as refused:
        world.run(model, 9)
    assert "--full-refresh" in str(refused.value)
    world.run(model, 9, full_refresh=True)
    assert ids(world.answers()) == [2, 3, 4]
    world.add((1, "more", None, 10), (5, "late", None, 8))
    world.run(model, 11)
    assert ids(world.answers()) == [2, 3, 4, 5]
    assert len(session.rows(f"select id from {schema}.target__rejected")) == 3
    assert len(session.rows(f"show tables in {schema} like 'target__late_*'")) == 1


@pytest.mark.parametrize("warm", [True, False])
def test_the_folder_of_the_state_deleted(world: World, warm: bool) -> None:
    delete_folder(world.session, f"{world.schema}.tapestry_state")
    if warm:
        with pytest.raises(StateMissing, match="tapestry_state is gone"):
            world.run(world.model(ALL), 9)
    else:
        world.recall = type(world.recall)()
    with pytest.raises(StateMissing, match="knows nothing of"):
        world.run(world.model(ALL), 9)
    world.run(world.model(ALL), 9, full_refresh=True)
    world.add((4, "d", None, 10))
    world.run(world.model(ALL), 12)
    assert ids(world.answers()) == [1, 2, 3, 4]
