"""Where a model stands: every situation that its table, its log and its state can be in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.runs.fake_delta import FakeError
from tests.runs.fake_world import STATE, TARGET, FakeWorld, at, run_twice

from tapestry.errors import QueryChanged, StateMissing, StateUnreadable, TargetChanged
from tapestry.runs.context.recall import Recall
from tapestry.runs.protocol.standing import Standing
from tapestry.runs.tables.target import EMPTY_GENERATION

pytestmark = pytest.mark.usefixtures("fake_spark")


@pytest.fixture
def world() -> FakeWorld:
    return run_twice()


def newest(world: FakeWorld, **changes: Any) -> None:
    """Change the state's newest row behind everybody's back."""
    *rows, last = world.delta.table(STATE).newest.rows
    world.delta.foreign(STATE, "WRITE", [*rows, {**last, **changes}])


def test_it_stands_at_its_newest_run(world: FakeWorld) -> None:
    found = world.stand()
    assert found.row is not None
    assert (found.row.n, found.row.after.t, found.version) == (2, at(8), 1)
    plain = Standing(found.target, found.row, version=1, attempt="")
    assert found == plain


def test_without_a_table_it_is_to_be_created(world: FakeWorld) -> None:
    world.delta.drop(TARGET)
    assert world.stand() == Standing(None, None)
    world.run(20)
    assert world.ids() == [1, 2, 3]


def test_a_view_is_no_table(world: FakeWorld) -> None:
    world.delta.drop(TARGET)
    world.delta.views.add(TARGET)
    assert world.stand() == Standing(None, None)


@pytest.mark.parametrize("refresh", [False, True])
def test_its_folder_gone(world: FakeWorld, refresh: bool) -> None:
    """Storage that is away for a while looks so: only a refresh builds the table again."""
    world.delta.delete_folder(TARGET)
    if refresh:
        assert world.stand(refresh=True) == Standing(None, None)
        world.run(20, refresh=True)
        assert world.ids() == [1, 2, 3]
        return
    with pytest.raises(TargetChanged, match="its folder is gone"):
        world.stand()


def test_other_errors_pass(world: FakeWorld) -> None:
    def before(sql: str) -> None:
        if sql.startswith("DESCRIBE DETAIL"):
            raise FakeError("the disk is full")

    world.session.before = before
    with pytest.raises(FakeError, match="disk is full"):
        world.stand()


def test_a_table_of_another_format(world: FakeWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = world.session.rows
    detail = [("parquet", *[None] * 11)]

    def rows(sql: str) -> list[tuple[Any, ...]]:
        return detail if sql.startswith("DESCRIBE DETAIL") else asked(sql)

    monkeypatch.setattr(world.session, "rows", rows)
    with pytest.raises(TargetChanged, match="is a parquet table"):
        world.stand()


def test_a_refresh_asks_neither_state_nor_log_for_what_was(world: FakeWorld) -> None:
    world.delta.drop(STATE)
    world.delta.foreign(TARGET, "DELETE", [])
    found = world.stand(refresh=True)
    assert found.target is not None
    assert (found.row, found.version) == (None, 2)


def test_the_table_of_an_empty_run(world: FakeWorld) -> None:
    table = world.delta.table(TARGET)
    named = {"tapestry.generation": EMPTY_GENERATION}
    table.commits[-1] = replace(table.newest, properties=named)
    found = world.stand()
    assert (found.row, found.version) == (None, 1)
    world.run(20)
    assert world.ids() == [1, 2, 3]


@pytest.mark.parametrize("was", ["other", "continuous", ""])
def test_a_table_of_a_model_of_another_kind(world: FakeWorld, was: str) -> None:
    """What one kind appends the other would write anew, over rows that are never taken back."""
    table = world.delta.table(TARGET)
    assert table.newest.properties["tapestry.kind"] == "continuous"
    named = {**table.newest.properties, "tapestry.kind": was}
    if not was:  # it was made when there was one kind
        del named["tapestry.kind"]
    table.commits[-1] = replace(table.newest, properties=named)
    kind = "continuous" if was == "other" else "other"
    model = replace(world.model(), materialized=kind)
    for found in (world, world.another()):  # warm, and another process
        with pytest.raises(QueryChanged, match=f"is {kind} now, ") as caught:
            found.stand(model)
        assert f"write materialized='{was or 'continuous'}' again" in str(caught.value)
    assert world.stand(model, refresh=True).row is None


@pytest.mark.parametrize("how", ["dropped", "deleted"])
def test_state_gone(world: FakeWorld, how: str) -> None:
    {"dropped": world.delta.drop, "deleted": world.delta.delete_folder}[how](STATE)
    with pytest.raises(StateMissing, match="knows nothing of"):
        world.run(20)
    world.run(20, refresh=True)
    world.add((4, 21))
    world.run(30)
    assert world.ids() == [1, 2, 3, 4]


def test_a_table_that_no_run_made(world: FakeWorld) -> None:
    world.delta.replace(TARGET, {"id": "int"}, [], {})
    with pytest.raises(StateMissing, match="no run of this model made"):
        world.stand()
    world.run(20, refresh=True)
    assert world.ids() == [1, 2, 3]


def test_under_another_name(world: FakeWorld) -> None:
    """A copy, or the table renamed: its runs are those of the name that the state has."""
    world.delta.clone(TARGET, "s.other")
    with pytest.raises(StateMissing, match=r"is a copy of s\.target"):
        world.stand(replace(world.model(), relation="s.other"))


@pytest.mark.parametrize("runs", [1, 2, 3])
def test_a_copy_under_the_old_name(runs: int) -> None:
    """Cloned away and back: it has our properties, and another id or another log."""
    world = FakeWorld()
    world.add((1, 0))
    for n in range(runs):
        world.run(n + 1)
        world.add((n + 2, n + 1.5))
    world.delta.clone(TARGET, "s.backup")
    world.delta.drop(TARGET)
    world.delta.clone("s.backup", TARGET)
    with pytest.raises((StateMissing, TargetChanged)):
        world.run(20)


def test_a_state_that_is_older_than_the_table(world: FakeWorld) -> None:
    """Restored from a backup: Delta would skip the next run silently, and its rows be lost."""
    world.delta.restore(STATE, 1)
    world.delta.clean_up(TARGET)
    world.delta.foreign(TARGET, "OPTIMIZE")
    world.delta.clean_up(TARGET)
    with pytest.raises(StateMissing, match="skipped: its table is ahead"):
        world.run(20)


def test_a_state_that_is_older_than_the_log_of_its_table(world: FakeWorld) -> None:
    """The notes of the commits say what the state does not: it gets the rows that it lacks."""
    before = world.stand().row
    world.delta.restore(STATE, 1)
    world.add((4, 9))
    assert world.stand().row == before
    world.run(20)
    assert (world.ids(), [row["n"] for row in world.states()]) == ([1, 2, 3, 4], [1, 2, 3])


def test_a_state_of_nobody_we_know(world: FakeWorld) -> None:
    newest(world, tau=None)
    with pytest.raises(StateUnreadable, match="tau is null, and n is 2"):
        world.stand()


@pytest.mark.parametrize(
    "changes", [{"t": 0}, {"tau": 1}, {"run_id": "x"}, {"pins": "{}"}, {"target_version": 7}]
)
def test_a_row_that_somebody_changed(world: FakeWorld, changes: dict[str, Any]) -> None:
    """Its seal tells."""
    newest(world, **changes)
    with pytest.raises(StateUnreadable):
        world.stand()


def test_a_row_of_another_kind_than_its_table_says(world: FakeWorld) -> None:
    table = world.delta.table(TARGET)
    named = {**table.newest.properties, "tapestry.kind": "whole"}
    table.commits[-1] = replace(table.newest, properties=named)
    with pytest.raises(QueryChanged, match="was made by a model that was continuous") as stopped:
        world.stand(replace(world.model(), materialized="whole"))
    assert "--full-refresh" in stopped.value.hint
    newest(world, format=None, seal=None, kind=None)
    with pytest.raises(QueryChanged, match="was made by a model that was continuous"):
        world.stand(replace(world.model(), materialized="whole"))


def test_a_row_without_a_seal_is_compared_with_its_commit(world: FakeWorld) -> None:
    newest(world, format=None, seal=None)
    assert world.stand().row is not None
    row = world.states()[-1]
    newest(world, format=None, seal=None, t=row["t"] + 1)
    with pytest.raises(StateUnreadable, match="its commit in the table says"):
        world.stand()


def test_a_claimed_row_without_a_seal_goes_on_from_a_known_run(world: FakeWorld) -> None:
    first, last = world.states()
    claimed = {**last, "n": 3, "tau": last["t"], "t": last["t"] + 5, "seal": None, "format": 1}
    world.delta.foreign(STATE, "WRITE", [first, last, claimed])
    assert world.stand().crashed
    world.delta.foreign(STATE, "WRITE", [first, last, {**claimed, "tau": last["t"] + 1}])
    with pytest.raises(StateUnreadable, match="goes on from no run that is known"):
        world.stand()


FOREIGN = ["WRITE", "DELETE", "UPDATE", "MERGE", "RESTORE", "TRUNCATE", "CLONE", "STREAMING UPDATE"]
HARMLESS = ["OPTIMIZE", "VACUUM START", "SET TBLPROPERTIES", "ADD CONSTRAINT", "CHANGE COLUMN"]


@pytest.mark.parametrize("operation", FOREIGN)
def test_a_foreign_write_is_refused_unless_accepted(world: FakeWorld, operation: str) -> None:
    world.delta.foreign(TARGET, operation)
    with pytest.raises(TargetChanged, match=f"{operation} is its version 2"):
        world.run(20)
    accepting = world.model(on_target_change="accept")
    assert world.stand(accepting).accepted
    world.add((4, 9))
    world.run(20, accepting)
    world.add((5, 21))
    world.run(30)  # what was accepted once is not asked about again
    assert world.ids() == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    "statement", ["INSERT INTO `s`.`tapestry_state`", "INSERT INTO `s`.`target`"]
)
@pytest.mark.parametrize("warm", [False, True])
def test_a_foreign_write_beside_a_run_is_refused_by_the_next(
    world: FakeWorld, warm: bool, statement: str
) -> None:
    """Also where the process stays: what its run has left is not what it remembers."""
    recall = Recall()

    def run(seconds: float) -> None:
        invocation = world.invocation(seconds)
        invocation.recall = recall if warm else Recall()
        world.run(seconds, invocation=invocation)

    def before(sql: str) -> None:
        if sql.startswith(statement):
            world.delta.foreign(TARGET, "DELETE")

    run(9)
    world.add((4, 10), (6, 1))  # one is late, so that the run is claimed first
    world.session.before = before
    run(11)
    world.session.before = lambda _: None
    world.add((5, 12))
    with pytest.raises(TargetChanged, match="DELETE is its version 2"):
        run(13)


def test_what_a_run_without_anything_new_accepted_is_not_asked_again(world: FakeWorld) -> None:
    world.delta.foreign(TARGET, "DELETE")
    accepting = world.model(on_target_change="accept")
    assert world.run(20, accepting).rows == 0
    assert world.run(21).action == "nothing"


@pytest.mark.parametrize("operation", HARMLESS)
def test_maintenance_is_nobody_s_business(world: FakeWorld, operation: str) -> None:
    world.delta.foreign(TARGET, operation)
    found = world.stand()
    assert (found.version, found.crashed, found.accepted) == (2, False, False)


def test_the_way_back_leads_behind_all_foreign_writes(world: FakeWorld) -> None:
    for operation in ("WRITE", "RESTORE"):
        world.delta.foreign(TARGET, operation)
    with pytest.raises(TargetChanged) as refused:
        world.stand()
    assert "else restore version 1 and accept that" in str(refused.value.hint)


@pytest.mark.parametrize("keep", [1, 3, 4])
@pytest.mark.parametrize("then", [lambda _: None, lambda world: world.run(9)])
def test_a_log_that_was_cleaned_up(
    world: FakeWorld, keep: int, then: Callable[[FakeWorld], object]
) -> None:
    """What was claimed, and the log no longer tells, is executed again under its number."""
    newest(world, recorded_at=None)
    for _ in range(3):
        world.delta.foreign(TARGET, "OPTIMIZE")
    world.delta.clean_up(TARGET, keep)
    found = world.stand()
    assert (found.crashed, found.complete_history) == (keep < 4, keep == 4)
    world.add((4, 8.5))
    then(world)
    world.run(20)
    assert world.ids() == [1, 2, 3, 4]


def test_many_commits_since_the_newest_run(world: FakeWorld) -> None:
    """More than one look at the log shows."""
    for _ in range(45):
        world.delta.foreign(TARGET, "OPTIMIZE")
    found = world.stand()
    assert (found.version, found.crashed, found.complete_history) == (46, False, True)


def test_two_rows_of_one_run_that_differ(world: FakeWorld) -> None:
    rows = world.states()
    world.delta.foreign(STATE, "WRITE", [*rows, {**rows[-1], "sql": "another"}])
    with pytest.raises(StateUnreadable, match="two rows"):
        world.stand()
    world.delta.foreign(STATE, "WRITE", [*rows, rows[-1]])
    assert world.stand().row is not None


def test_rows_of_other_generations_do_not_matter(world: FakeWorld) -> None:
    rows = world.states()
    world.delta.foreign(STATE, "WRITE", [*rows, {**rows[-1], "generation": "g", "n": None}])
    assert world.stand().row is not None


def test_a_failed_run_leaves_its_window(world: FakeWorld) -> None:
    world.add((4, 9))
    world.broken.add(4)
    with pytest.raises(FakeError, match="BROKEN"):
        world.run(10)
    found = world.stand()
    assert found.row is not None
    assert (found.row.n, found.row.after.t, found.row.failed) == (3, at(8), (3,))
    assert (found.crashed, found.closing) == (False, False)
    world.broken.clear()
    world.run(12)
    assert [row["n"] for row in world.states()] == [1, 2, 3, 4]
    assert world.ids() == [1, 2, 3, 4]


def test_marked_and_not_closed(world: FakeWorld) -> None:
    world.add((4, 9))
    rows, version = world.states(), world.delta.table(TARGET).newest.version
    world.run(10)
    table = world.delta.table(TARGET)
    del table.commits[version + 1 :]
    newest(world, failed_at=5)
    assert world.stand().closing
    world.run(12)
    assert len(world.states()) == len(rows) + 2
    assert world.ids() == [1, 2, 3, 4]


def test_marked_and_the_log_no_longer_tells(world: FakeWorld) -> None:
    """Closed long ago, say: τ stays where it was."""
    newest(world, failed_at=5)
    world.delta.foreign(TARGET, "OPTIMIZE")
    world.delta.clean_up(TARGET)
    found = world.stand()
    assert found.row is not None
    assert (found.row.after.t, found.closing) == (at(4), False)


def test_what_is_remembered_spares_the_state(world: FakeWorld) -> None:
    invocation = world.invocation(20)
    world.run(20, invocation=invocation)
    world.add((4, 21))
    world.run(22, invocation=invocation)
    world.session.texts.clear()
    world.add((5, 23))
    other = world.invocation(30)
    other.recall = invocation.recall
    world.run(30, invocation=other)
    assert not any("_newest" in text for text in world.session.texts)
    assert world.ids() == [1, 2, 3, 4, 5]
