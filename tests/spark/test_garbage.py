"""Our own tables with garbage in them: the model concerned stops, the others and the report go on.

Outside the gate: it starts Spark. The readers without Spark are in tests/runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from tests.spark.run_world import ALL, World, ids

from tapestry.errors import NotRunYet, StateMissing, StateUnreadable
from tapestry.report.read import SessionTables, read_record
from tapestry.runs.engine.own_tables import create_own
from tapestry.runs.kinds.registry import execute, prepare
from tapestry.runs.model.model import Model
from tapestry.runs.protocol.log import CHECKS, RUNS, write_checks, write_log
from tapestry.runs.tables.state_row import COLUMNS

GARBAGE = {
    "string": ("NULL", "concat(repeat('[', 100000), char(0), char(27), '[2J')"),
    "bigint": ("NULL", "9223372036854775807L"),
    "timestamp": ("timestamp_micros(9223372036854775807L)", "timestamp'2026-01-01 00:00:04'"),
    "double": ("double('NaN')", "-1d"),
}
HARMLESS = ("failed_at", "created_at", "recorded_at", "begin", "last_begin", "began")
"""Columns that no run depends on, or only those of an earlier version."""


@pytest.fixture
def world(session: Any, schema: str) -> World:
    """Two models that have run twice."""
    world = World(session, schema).create()
    for name in ("one", "two"):
        for t in (3, 10):
            world.run(world.model(ALL, name), t)
    return world


def items(columns: Iterable[str], **changed: str) -> str:
    """A select list in which some columns have other values."""
    return ", ".join(f"{changed[c]} as {c}" if c in changed else c for c in columns)


def fresh(world: World) -> World:
    """The same world in another process, which remembers nothing."""
    return World(world.session, world.schema)


def test_garbage_in_every_column_of_the_state_stops_its_model_alone(world: World) -> None:
    """Nothing is answered twice or lost: the row is put right, and runs go on."""
    state = f"{world.schema}.tapestry_state"
    one, two = world.model(ALL, "one"), world.model(ALL, "two")
    mine = f"model = '{world.schema}.one' and n = 2"
    good = len(world.session.rows(f"describe history {state}")) - 1
    told = set()
    for column, kind in COLUMNS.items():
        for value in () if column in HARMLESS else GARBAGE[kind]:
            empty = f"string({column}) in ('', '[]', '{{}}')"
            if column == "last_canonical":
                empty = f"({empty} or last_canonical = canonical)"  # NULL: it is the same query
            same = f"{column} <=> {value} or {value} is null and {empty}"
            if world.session.rows(f"select {same} from {state} where {mine}") == [(True,)]:
                continue  # it means what stands there: rows of earlier versions have such NULLs
            world.session.run(f"update {state} set {column} = {value} where {mine}")
            error = _stopped(world, one)
            if isinstance(error, StateUnreadable):
                assert state in error.where
                told.add(column)
            # The row is another run's then, and the note of the commit says what it was.
            assert error is not None or column in ("generation", "n")
            world.session.run(f"restore table {state} to version as of {good}")
    # Of another generation or number a row knows nothing of this one.
    assert told >= set(COLUMNS) - {*HARMLESS, "generation"}, told
    world.session.run(f"update {state} set pins = 'no JSON' where {mine}")
    assert fresh(world).plan(two, 20).action == "nothing"
    world.session.run(f"restore table {state} to version as of {good}")
    assert world.versions("one") == 2
    world.add((4, "a", None, 15))
    for model in (one, two):
        assert fresh(world).run(model, 20).action == "append"
    assert ids(world.answers("one")) == ids(world.answers("two")) == [1, 2, 3, 4]


def _stopped(world: World, model: Model) -> StateMissing | None:
    """The error of a run that is to be planned, which is to be read; None: there is nothing new."""
    try:
        assert fresh(world).plan(model, 20).action == "nothing"
        return None
    except StateMissing as raised:
        error = raised
    assert not isinstance(error, NotRunYet)
    assert len(str(error)) < 1500
    assert "\0" not in str(error)
    assert "\x1b" not in str(error)
    assert error.hint
    return error


def test_what_no_run_depends_on_may_be_garbage(world: World) -> None:
    state = f"{world.schema}.tapestry_state"
    one = world.model(ALL, "one")
    world.session.run(
        f"update {state} set created_at = NULL, begin = now(), began = now(), last_begin = NULL,"
        " failed_at = timestamp'9999-12-31 00:00:00'"
    )
    world.add((4, "a", None, 15))
    assert fresh(world).run(one, 20).action == "append"
    assert ids(world.answers("one")) == [1, 2, 3, 4]


def test_rows_too_many(world: World) -> None:
    """Equal ones do no harm; of two that differ, and of one made from another, nobody guesses."""
    state = f"{world.schema}.tapestry_state"
    one, two = world.model(ALL, "one"), world.model(ALL, "two")
    mine = f"from {state} where model = '{world.schema}.one' and n = 2 limit 1"
    world.add((4, "a", None, 15))
    harmless: tuple[dict[str, str], ...] = (
        {},
        {"generation": "cast(null as string)"},
        {"generation": "'else'"},
        {"n": "cast(null as bigint)"},
    )
    for changed in harmless:
        world.session.run(f"insert into {state} select {items(COLUMNS, **changed)} {mine}")
    good = len(world.session.rows(f"describe history {state}")) - 1
    assert fresh(world).plan(one, 20).action == "append"
    for changed in (
        {"run_id": "'other'"},
        {"n": "n + 1000"},
        {"n": "n + 1", "seal": "cast(null as string)", "format": "1"},
        {
            "n": "n + 1",
            "seal": "cast(null as string)",
            "format": "1",
            "failed_at": "current_timestamp()",
        },
    ):
        world.session.run(f"insert into {state} select {items(COLUMNS, **changed)} {mine}")
        with pytest.raises(StateUnreadable):
            fresh(world).plan(one, 20)
        world.session.run(f"restore table {state} to version as of {good}")
    early = "timestamp'2026-01-01 00:00:04'"
    world.session.run(f"update {state} set t = {early}, seal = null, format = 1 where n = 2")
    for model in (one, two):
        with pytest.raises(StateUnreadable, match="its commit in the table says"):
            fresh(world).plan(model, 20)


def test_a_state_table_that_is_another(world: World) -> None:
    """A missing column, another type, another format, a view: the message names the table."""
    state, session = f"{world.schema}.tapestry_state", world.session
    one, kept = world.model(ALL, "one"), f"{world.schema}.kept"
    session.run(f"create table {kept} using delta as select * from {state}")
    without = [name for name in COLUMNS if name != "pins"]
    text = {"tau": "cast(tau as string)"}
    for said, made in {
        "has no column pins": f"select {items(without)} from {kept}",
        "has a tau of string": f"select {items(COLUMNS, **text)} from {kept}",
        "has no column model": "select 1 as x",
        "n is no whole number": f"select {items(COLUMNS, n='cast(n as string)')} from {kept}",
        "knows nothing of": f"select * from {kept} where false",
    }.items():
        session.run(f"drop table if exists {state}")
        session.run(f"create table {state} using delta as {made}")
        with pytest.raises(StateMissing, match=said) as stopped:
            fresh(world).plan(one, 20)
        assert state in str(stopped.value)
    session.run(f"drop table {state}")
    with pytest.raises(StateMissing, match="knows nothing of"):
        fresh(world).plan(one, 20)
    more = "1 as more, 'x' as words"
    session.run(f"create table {state} using delta as select *, {more} from {kept}")
    world.add((4, "a", None, 15))
    assert fresh(world).run(one, 20).action == "append"
    assert ids(world.answers("one")) == [1, 2, 3, 4]


def test_the_report_leaves_out_what_no_run_has_logged(session: Any, schema: str) -> None:
    world = World(session, schema).create()
    runs, checks = f"{schema}.tapestry_runs", f"{schema}.tapestry_checks"
    for n, t in ((1, 3), (2, 10)):
        invocation = world.invocation(t)
        model = world.model(ALL, expectations=[{"expect": "id <> 20"}])
        execute(session, prepare(session, model, invocation), invocation)
        write_log(session, runs, f"i{n}", invocation.log)
        write_checks(session, checks, f"i{n}", invocation.log)
    for table, columns in ((runs, RUNS), (checks, CHECKS)):
        changed = [{c: value} for c, kind in columns.items() for value in GARBAGE[kind]]
        rows = " union all ".join(
            f"select {items(columns, **change)} from {table} where invocation_id = 'i1'"
            for change in changed
        )
        session.run(f"insert into {table} {rows}")
    record = read_record(SessionTables(session, schema))
    assert {run.n for run in record.runs if run.invocation_id == "i2"} == {2}
    assert [one.table for one in record.unread] == ["tapestry_runs", "tapestry_checks"]
    assert all(one.rows and one.rows > 5 for one in record.unread)
    session.run(f"drop table {runs}")
    create_own(session, runs, {"model": "array<int>", "ended_at": "map<int, int>"}, "another")
    session.run(f"insert into {runs} values (array(1), map(1, 2))")
    record = read_record(SessionTables(session, schema))
    assert [one.table for one in record.unread] == ["tapestry_runs", "tapestry_checks"]
    assert record.checks
