"""Runs without a claim: what goes wrong between their commit, their note and their row."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from tests.killed import Killed
from tests.runs.fake_delta import FakeError
from tests.runs.fake_session import plain
from tests.runs.fake_world import (
    SOURCE,
    STATE,
    TARGET,
    FakeWorld,
    at,
    run_twice,
)
from tests.runs.state_rows import ROW, other

from tapestry.errors import ConcurrentRun, StateMissing, TargetChanged
from tapestry.names import GENERATION_PROPERTY
from tapestry.runs.checks import rejected
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.engine.glance import Glance
from tapestry.runs.engine.session import ONLY_SQL
from tapestry.runs.kinds import registry
from tapestry.runs.kinds.continuous.horizons import horizons
from tapestry.runs.kinds.continuous.progress import Reached, reached
from tapestry.runs.protocol.commit import close
from tapestry.runs.protocol.plan import Planned
from tapestry.runs.protocol.writing import append_sql, closing_sql
from tapestry.runs.sources.pins import Pin
from tapestry.runs.tables import state
from tapestry.runs.tables.noted_runs import LONGEST_NOTE, brought_up, written_in_note
from tapestry.runs.tables.state import claim, read_states, runs_of
from tapestry.runs.tables.state_row import AsWritten, StateRow
from tapestry.runs.tables.target import commits_after

pytestmark = pytest.mark.usefixtures("fake_spark")

COMMITS = "INSERT INTO `s`.`target`"


@pytest.fixture
def world() -> FakeWorld:
    """Two runs, up to 8, and a new row in time."""
    made = run_twice()
    made.add((4, 9))
    return made


def planned_in(process: FakeWorld, seconds: float) -> tuple[Planned, Invocation]:
    """The plan of the next run, which claims its number by its commit."""
    invocation = process.invocation(seconds)
    planned = process.plan(invocation)
    assert isinstance(planned, Planned)
    assert planned.claims_by_commit
    return planned, invocation


def killed(process: FakeWorld, seconds: float, begin: str, sql: str = "all of them") -> None:
    """Run a query, killed before the first statement that begins so."""

    def before(text: str) -> None:
        if text.startswith(begin):
            raise Killed

    process.session.before = before
    with pytest.raises(Killed):
        process.run(seconds, process.model(sql))
    process.session.before = lambda _: None


def row_of(world: FakeWorld) -> StateRow:
    """The newest run, for a process that remembers nothing."""
    row = world.another().stand().row
    assert row is not None
    return row


def with_glances(process: FakeWorld) -> FakeWorld:
    """The process, as in an embedded Spark: it looks at tables by their logs."""

    def glance(name: str) -> Glance | None:
        try:
            table = process.delta.table(plain(name))
        except FakeError:
            return None
        now = table.newest
        generation = now.properties.get(GENERATION_PROPERTY)
        return Glance(name, now.table_id, generation, str(now.at), 0, 0, now.version)

    process.session.can = replace(ONLY_SQL, glance=glance)
    return process


@pytest.mark.parametrize("sql", ["all of them", "other"])
def test_of_a_claim_only_the_number_counts(world: FakeWorld, sql: str) -> None:
    """A later deployment, say with another query, has claimed the number and was killed; the other
    one has committed under it and has yet to write its row."""
    first = world.another()
    planned, invocation = planned_in(first, 12)
    world.add((5, 2) if sql == "all of them" else (5, 14))
    killed(world.another(), 16, COMMITS, sql)
    registry.execute(first.session, planned, invocation)
    third = world.another()
    third.add((6, 19))
    third.run(20)
    assert third.ids() == [1, 2, 3, 4, 5, 6]
    first.record(invocation)
    mine = [run for run in runs_of(world.session, STATE, planned.row.generation) if run.n == 3]
    assert [(run.run_id, run.after.t) for run in mine] == [(planned.row.run_id, at(12))]


def test_a_claim_that_nothing_but_a_commit_of_another_run_stands_for(world: FakeWorld) -> None:
    """Nobody goes on from the run that was claimed: it is not the one that has landed."""
    first = world.another()
    planned, invocation = planned_in(first, 12)
    killed(world.another(), 16, COMMITS, "other")
    registry.execute(first.session, planned, invocation)
    kept = [row for row in world.states() if row["n"] == 3]
    world.delta.foreign(STATE, "DELETE", kept)
    with pytest.raises(StateMissing, match="the commit of another has taken it"):
        world.another().run(20)
    states = read_states(world.session, STATE)
    assert reached(world.session, TARGET, STATE, states) == Reached(at(8))
    first.record(invocation)
    world.another().run(20)
    assert world.ids() == [1, 2, 3, 4]


def test_a_reader_goes_as_far_as_the_version_that_it_reads(world: FakeWorld) -> None:
    """Runs that came after it was pinned have answers that the version lacks."""
    reader = world.another()
    properties = world.delta.table(TARGET).newest.properties
    version = world.delta.table(TARGET).newest.version
    pinned: Any = SimpleNamespace(
        table=SimpleNamespace(properties=properties), pin=Pin("id", version)
    )

    def found(invocation: Invocation) -> Any:
        return horizons(reader.session, invocation, {TARGET: pinned})[0][TARGET]

    early, late = reader.invocation(30), reader.invocation(30)
    early.states.of(reader.session, properties[GENERATION_PROPERTY])
    assert found(late) == at(8)
    for seconds in (10, 12):
        world.add((int(seconds), seconds - 0.5))
        world.another().run(seconds)
    assert found(early) == at(8)
    assert found(reader.invocation(30)) == at(8)


@pytest.mark.parametrize("ends", [True, False])
def test_claims_of_other_runs_than_those_recorded_are_not_overlooked(
    world: FakeWorld, ends: bool
) -> None:
    """A process knows where a model stands; another one claims its next run, and the first one
    records a run of another model."""
    mine = with_glances(world.another())
    invocation = mine.invocation(8)
    target = mine.delta.table(TARGET)
    assert mine.stand_in(invocation).row is not None
    seen = mine.session.can.glance(TARGET)
    assert seen is not None
    assert invocation.recall.known(seen) is not None
    world.add((5, 2))
    killed(world.another(), 16, COMMITS)  # claimed, and a late row stands beside the table
    before = invocation.recall.claims[STATE]
    invocation.states.landed(other(ROW, generation="another"))
    invocation.states.record(mine.session, ends=ends)
    assert target.newest.version == seen.version
    if ends:
        assert invocation.recall.known(seen) is None
        assert invocation.recall.claims[STATE].version > before.version
    else:  # it is found out when the run under way is recorded
        assert invocation.recall.claims[STATE] == before


def test_a_run_whose_row_another_thread_writes(
    world: FakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The number was claimed by another process: the row that is remembered does not say so."""
    first = world.another()
    planned, invocation = planned_in(first, 12)
    world.add((5, 2))
    killed(world.another(), 16, COMMITS)
    landed = invocation.states.landed

    def at_once(row: StateRow) -> None:
        landed(row)
        invocation.states.record(first.session, ends=False)

    monkeypatch.setattr(invocation.states, "landed", at_once)
    registry.execute(first.session, planned, invocation)
    assert first.stand_in(invocation).row == row_of(world)
    assert row_of(world).failed == (3,)


def test_a_row_that_could_not_be_written(world: FakeWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever looks at the model after that in the same invocation writes it, and remembers no
    row that the state lacks."""
    first = world.another()
    planned, invocation = planned_in(first, 12)
    world.add((5, 2))
    killed(world.another(), 16, COMMITS)
    registry.execute(first.session, planned, invocation)

    def refused(*_: Any) -> None:
        raise OSError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(state, "append_own", refused)
        with pytest.raises(OSError, match="disk is full"):
            first.record(invocation)
    found = first.stand_in(invocation).row
    assert found is not None
    assert found.failed == (3,)
    assert found == row_of(world)


def test_an_error_of_a_run_that_another_one_overtook(world: FakeWorld) -> None:
    """The faster one has dropped the staged rows of both: there is nothing wrong with the model."""
    first = world.another()
    planned, invocation = planned_in(first, 12)
    world.another().run(10)
    world.add((5, 11))
    failures = [FakeError("[TABLE_OR_VIEW_NOT_FOUND] s.target__staged")]

    def before(text: str) -> None:
        if text.startswith(COMMITS) and failures:
            raise failures.pop()

    first.session.before = before
    outcome = registry.execute(first.session, planned, first.knowing(invocation))
    assert not failures
    first.record(invocation)
    assert (outcome.action, first.ids()) == ("append", [1, 2, 3, 4, 5])
    assert [row["n"] for row in world.states()] == [1, 2, 3, 4], "it has claimed nothing"


def test_rows_that_were_not_written_at_all(world: FakeWorld) -> None:
    """The connection is lost before: the next invocation of the process reads the log again."""
    first = with_glances(world.another())
    planned, invocation = planned_in(first, 12)
    registry.execute(first.session, planned, invocation)
    seen = first.session.can.glance(TARGET)
    assert seen is not None
    assert invocation.recall.known(seen) is not None
    invocation.states.forget_unrecorded()
    assert invocation.recall.known(seen) is None
    assert not invocation.states.unrecorded
    assert first.stand_in(invocation).row == planned.row
    assert [row["n"] for row in world.states()] == [1, 2, 3]


def test_two_processes_record_a_run_and_a_claim_comes_in_between(world: FakeWorld) -> None:
    """The claim came after the first record: it saw the commit and wrote nothing."""
    first = world.another()
    planned, invocation = planned_in(first, 12)
    registry.execute(first.session, planned, invocation)
    assert row_of(world) == planned.row  # recorded by that
    assert claim(world.session, STATE, other(planned.row, run_id="another"))
    first.record(invocation)
    recorded = [row["failed"] for row in world.states() if row["recorded_at"] is not None]
    assert recorded[-2:] == ["[]", "[3]"]
    assert row_of(world) == planned.row
    world.add((5, 13))
    world.another().run(20)
    assert runs_of(world.session, STATE, planned.row.generation)[2] == planned.row
    assert world.ids() == [1, 2, 3, 4, 5]


def test_rejected_rows_of_a_number_that_another_run_has_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = {name: name for name in rejected.OURS}
    monkeypatch.setattr(rejected, "_there", lambda *_: names)
    session: Any = None
    counts = rejected.before_run(session, replace(ROW, failed=(1, 2)))
    assert str(counts).endswith("NOT IN (1, 2)")


def test_a_note_is_the_same_text_in_every_session() -> None:
    """Also with `escapedStringLiterals`: a backslash would be two there, and no JSON any more."""
    odd = other(ROW, own={"a": 'it\'s \\ "ü" ${env:HOME}'})
    statement = append_sql(odd, ("id",), "SELECT 1")
    assert "\\" not in statement
    assert "$" not in statement
    long = other(ROW, own={"a": "x" * LONGEST_NOTE})
    assert written_in_note(long) is None
    assert '"state"' not in append_sql(long, ("id",), "SELECT 1")


@pytest.mark.parametrize("note", ["", "no base64!", "e30=", "bm8=", "W10=", "[" * 9, 5, {"end": 1}])
def test_a_note_that_no_run_has_written(world: FakeWorld, note: Any) -> None:
    """The state stops before its run, as without a note."""
    killed(world.another(), 10, "SELECT generation, n, run_id")
    table = world.delta.table(TARGET)
    said = table.newest.note
    assert said is not None
    place = said.index('"state": ')
    odd = f'{said[:place]}"state": {json.dumps(note)}}}}}'
    table.commits[-1] = replace(table.newest, note=odd)
    with pytest.raises(StateMissing, match="stops at run 2, its table has run 3"):
        world.another().run(20)


def test_a_note_without_a_number(world: FakeWorld) -> None:
    """It is somebody else's commit, whatever it says of itself."""
    generation = row_of(world).generation
    world.delta.foreign(TARGET, "WRITE")
    table = world.delta.table(TARGET)
    said = {"generation": generation, "n": "three", "run_id": "r"}
    table.commits[-1] = replace(table.newest, note=json.dumps({"tapestry": said}))
    with pytest.raises(TargetChanged, match="written by somebody else"):
        world.stand()


def test_the_seal_tells_whether_a_marked_run_had_landed(world: FakeWorld) -> None:
    """It failed after its commit, and was killed while it was looked at: the mark stayed."""
    rows = world.states()
    world.delta.foreign(STATE, "WRITE", [*rows[:-1], {**rows[-1], "failed_at": 5}])
    killed(world.another(), 12, "SELECT generation, n, run_id")
    world.add((5, 13))
    world.another().run(20)
    assert world.ids() == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("rule", ["fail", "accept"])
def test_table_and_state_restored_together(world: FakeWorld, rule: str) -> None:
    """The log still has the runs that were taken back: none of them is brought up again."""
    world.run(10)
    world.delta.restore(STATE, 2)
    world.delta.restore(TARGET, 1)
    assert world.ids() == [1, 2, 3]
    with pytest.raises(StateMissing, match="stops at run 2, its table has run 3"):
        world.run(20, world.model(on_target_change=rule))


def test_files_of_a_table_that_are_older_than_its_state(world: FakeWorld) -> None:
    """Brought back from a backup: the newest run would be executed again, those before it not."""
    world.run(10)
    world.add((5, 11))
    world.run(12)
    table = world.delta.table(TARGET)
    del table.commits[2:]
    with pytest.raises(TargetChanged, match="its files are older than its state"):
        world.run(20)
    world.run(20, refresh=True)
    assert world.ids() == [1, 2, 3, 4, 5]


def test_a_run_that_may_have_landed_is_not_closed(world: FakeWorld) -> None:
    """Kinds that close what has crashed: the log was cleaned up, and Delta skips the closing."""
    row = row_of(world)
    world.delta.foreign(TARGET, "OPTIMIZE")
    world.delta.clean_up(TARGET)
    with pytest.raises(StateMissing, match="may have landed"):
        close(world.session, STATE, row, 2)
    assert world.states()[-1]["failed_at"] is None


def test_a_run_of_a_generation_that_was_closed_meanwhile(world: FakeWorld) -> None:
    """By a refresh or a rewind: it removes nothing of the generation that comes after it."""
    row = row_of(world)
    following = replace(row, identity=replace(row.identity, n=3, run_id="mine"))
    following = replace(following, target=Pin(row.target.table_id, 1), before=row.after)
    assert claim(world.session, STATE, following)
    world.session.run(closing_sql(TARGET, 2, row.generation, "refresh"))
    with pytest.raises(ConcurrentRun):
        close(world.session, STATE, following, 2)


def test_the_first_run_after_an_earlier_version_is_claimed(world: FakeWorld) -> None:
    """A process of that version goes on from rows of its own format only."""
    found = world.stand()
    assert found.row is not None
    assert found.circumstances.last_sql == found.row.sql
    older = replace(found.row, written=AsWritten(form=1))
    assert replace(found, row=older).circumstances.last_sql is None


def test_what_was_recorded_has_landed_whatever_the_log_tells(world: FakeWorld) -> None:
    row = row_of(world)
    assert row.recorded
    commits = commits_after(world.session, TARGET, 0)
    assert not brought_up(world.session, STATE, row, commits).lacking
    world.delta.foreign(TARGET, "OPTIMIZE")
    world.delta.clean_up(TARGET)
    found = world.stand()
    assert (found.row, found.crashed, found.complete_history) == (row, False, False)
    assert SOURCE in row.after.pins
