"""Windows: what a sequence of runs leaves, and which runs are none."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest
from tests.marks import more
from tests.spark.run_world import ALL, OLD, UNANSWERED, World, at, ids, literal, writes

from tapestry.errors import ConfigurationError, QueryChanged, Refusal, StateMissing, WindowError
from tapestry.names import MATCHED_AT
from tapestry.runs.kinds.continuous.late.side import side_name
from tapestry.runs.kinds.continuous.query import read_query
from tapestry.runs.kinds.continuous.window import measured_first
from tapestry.runs.kinds.registry import execute, parse_config, prepare
from tapestry.runs.query.spark_reads import refuse_read_otherwise
from tapestry.runs.tables.state import claim
from tapestry.runs.tables.target import look

pytestmark = pytest.mark.gate


def test_any_sequence_of_windows_gives_the_full_refresh(world: World) -> None:
    steps, once = world.model(UNANSWERED, "steps"), world.model(UNANSWERED, "once")
    for t in (3, 10.5, 11, 30):
        world.run(steps, t)
        world.add((10 + int(t * 2), "c", None, t + 0.25))
    world.run(steps, 41)
    world.run(once, 41)
    assert world.answers("steps") == world.answers("once")
    assert (1, 10.0) in world.answers("steps")
    assert 2 not in ids(world.answers("steps"))


def test_an_empty_window_commits_nothing_and_is_asked_for_once(world: World) -> None:
    model = world.model(OLD)
    world.run(model, 6)
    before = world.versions(), world.versions("messages")
    assert world.run(model, 9).action == "nothing"
    world.session.texts.clear()  # type: ignore[attr-defined]
    assert world.run(model, 9.5).action == "nothing"
    texts = world.session.texts  # type: ignore[attr-defined]
    assert not [t for t in texts if "min(" in t.lower() or "INSERT" in t]
    assert (world.versions(), world.versions("messages")) == before
    assert len(world.states()) == 1
    assert world.run(model, 10).rows == 1


@pytest.mark.more
def test_time_does_not_run_backwards(world: World) -> None:
    model = world.model(OLD)
    world.run(model, 20)
    assert world.run(model, 20).action == "nothing"
    with pytest.raises(WindowError, match="2026-01-01 00:00:19"):
        world.run(model, 19)
    planned = prepare(world.session, model, world.invocation(19, given=False))
    assert planned.action == "nothing"
    assert "nothing to do" in planned.told.warnings[0]


@pytest.mark.more
def test_full_refresh_is_a_new_generation_also_at_an_earlier_instant(world: World) -> None:
    model = world.model(OLD)
    world.run(model, 20)
    outcome = world.run(model, 10, full_refresh=True)
    assert (outcome.action, world.answers()) == ("create", [(1, 10.0)])
    world.run(model, 12)
    assert world.answers() == [(1, 10.0), (2, 11.0)]
    assert len({g for (g,) in world.states("generation")}) == 2


def test_a_late_row_arrives_just_after_the_last_run(world: World) -> None:
    model = world.model(ALL)
    world.run(model, 20)
    world.add((7, "late", None, 2))
    world.run(model, 30)
    assert world.answers()[-1] == (7, 20.000001)
    world.add((8, "in time", None, 31))
    world.run(model, 40)
    assert ids(world.answers()) == [1, 2, 3, 7, 8]


def test_begin_leaves_out_what_was_over_before_it(world: World) -> None:
    while_young = "select id from {s}.messages where now() < ts + interval 3 seconds"
    model = world.model(while_young, begin="2026-01-01 00:00:02")
    world.run(model, 2)
    assert world.answers() == [(1, 2.0), (2, 2.0)]
    world.run(model, 9)
    assert world.answers() == [(1, 2.0), (2, 2.0), (3, 5.0)]


@pytest.mark.more
def test_lag_holds_t_back_where_the_clock_decides(world: World) -> None:
    model = world.model(OLD, lag="5 seconds")
    assert world.run(model, 15, given=False).t == at(10)
    assert world.run(model, 15).t == at(15)


@pytest.mark.more
def test_a_changed_query_goes_on_at_a_begin_that_is_still_to_come(world: World) -> None:
    young = "select id from {s}.messages where now() < ts + interval 30 seconds"
    texts = young, f"{young} and id > 0"
    for name, text in zip(("steps", "same"), (texts, (young, young)), strict=True):
        for sql, t in zip((text[0], text[0], text[1], text[1]), (2, 6, 8, 25), strict=True):
            config = {"begin": "2026-01-01 00:00:20", "on_query_change": "continue"}
            world.run(world.model(sql, name, verify="full", **config), t)
    assert world.answers("steps") == world.answers("same") == [(1, 20.0), (2, 20.0), (3, 20.0)]


@pytest.mark.parametrize("rule", [more("fail"), "continue", more("refresh")])
def test_on_query_change(world: World, rule: str) -> None:
    world.run(world.model(ALL + " where author = 'a'"), 3)
    world.add((4, "b", None, 6))
    changed = world.model(ALL + " where author = 'b'", on_query_change=rule)
    if rule == "fail":
        with pytest.raises(QueryChanged, match=r"- 'a' \+ 'b'"):
            world.run(changed, 9)
        return
    world.run(changed, 9)
    # continue: message 2 was an answer before the new text began, and is none of its news
    expected = [(1, 0.0), (4, 6.0)] if rule == "continue" else [(2, 1.0), (4, 6.0)]
    assert world.answers() == expected
    assert world.run(changed, 12).action == "nothing"


def test_the_same_query_in_other_words_is_no_change(world: World) -> None:
    world.run(world.model(ALL), 3)
    shouted = "SELECT  m.id , m.author -- all of them\nFROM {s}.MESSAGES m"
    assert world.run(world.model(shouted), 9).rows == 1


@pytest.mark.parametrize("rule", ["fail", "ignore", "append_new_columns"])
def test_on_schema_change(world: World, rule: str) -> None:
    world.run(world.model("select id from {s}.messages"), 3)
    wider = world.model(
        "select id, author from {s}.messages", on_query_change="continue", on_schema_change=rule
    )
    if rule == "fail":
        with pytest.raises(QueryChanged, match="new column author"):
            world.run(wider, 9)
        return
    world.run(wider, 9)
    assert ids(world.answers()) == [1, 2, 3]
    if rule == "append_new_columns":
        assert [a for (a, _) in world.answers(columns="coalesce(author, '')")] == ["", "", "a"]


def test_a_view_is_inlined_and_its_text_is_part_of_the_query(world: World) -> None:
    view = f"{world.schema}.v"
    world.session.run(
        f"create view {view} as select id, ts from messages where author = 'a'".replace(
            "messages", f"{world.schema}.messages"
        )
    )
    model = world.model("select id from {s}.v")
    world.run(model, 3)
    world.session.run(
        f"create or replace view {view} as select id, ts from {world.schema}.messages"
    )
    with pytest.raises(QueryChanged):
        world.run(model, 9)


def test_a_chain_never_passes_its_upstream(world: World) -> None:
    up = world.model(OLD, "up")
    down = world.model(f"select id, {MATCHED_AT} as since from {{s}}.up", "down")
    world.run(up, 10.5)
    assert world.run(down, 30).t == at(10.5)
    world.run(up, 20)
    shared = world.invocation(40)
    for model in (up, down):
        execute(world.session, prepare(world.session, model, shared), shared)
    assert world.answers("down") == world.answers("up")


def test_a_chain_waits_for_a_model_whose_state_is_elsewhere(world: World) -> None:
    """As where dbt defers to another environment: its table says which state table knows it."""
    up = world.model(OLD, "up")
    down = world.model(f"select id, {MATCHED_AT} as since from {{s}}.up", "down")
    elsewhere = replace(world.invocation(10.5), state_table=f"{world.schema}.their_state")
    execute(world.session, prepare(world.session, up, elsewhere), elsewhere)
    planned = world.plan(down, 30)
    assert planned.t == at(10.5)
    assert any("has run to" in warning for warning in planned.told.warnings)


def test_star_over_a_continuous_model_says_how_to_go_on(world: World) -> None:
    world.run(world.model(ALL, "up"), 10)
    with pytest.raises(Refusal, match=MATCHED_AT) as error:
        world.run(world.model("select * from {s}.up", "down"), 10)
    assert f"except ({MATCHED_AT})" in str(error.value)


def test_a_source_that_says_nothing_of_its_arrival(world: World) -> None:
    world.session.run(f"create table {world.schema}.plain using delta as select 1 as id")
    with pytest.raises(ConfigurationError, match="loaded_at_field"):
        world.run(world.model("select id from {s}.plain"), 10)


def test_a_source_of_which_the_project_says_two_things(world: World) -> None:
    model = world.model(ALL)
    two = dict.fromkeys(model.arrivals, ("author", "ts"))
    with pytest.raises(ConfigurationError, match=r"several things of the arrival of .*author, ts"):
        world.run(replace(model, arrivals=two), 10)


def test_the_model_itself_is_no_source(world: World) -> None:
    with pytest.raises(Refusal, match="its own table"):
        world.run(world.model("select id from {s}.target"), 10)


def test_a_model_that_the_process_knows_beside_one_that_it_does_not(world: World) -> None:
    """Of the first nothing has to be read; the second's state must be looked for all the same."""
    one, two = world.model(ALL, "one"), world.model(ALL, "two")
    world.run(two, 2)
    world.recall = type(world.recall)()
    world.run(one, 2)
    invocation = world.invocation(9)
    for model in (one, two):
        execute(world.session, prepare(world.session, model, invocation), invocation)
    for name in ("one", "two"):
        rows = world.session.rows(f"select id from {world.schema}.{name}")
        assert sorted(i for (i,) in rows) == [1, 2, 3]


def test_models_that_ran_together_look_for_late_rows_once(world: World) -> None:
    models = [world.model(ALL, name=name) for name in ("one", "other")]
    for model in models:
        world.run(model, 8)
    world.run(alone := world.model(ALL, name="alone"), 7)
    world.add((4, "c", None, 2), (5, "d", None, 9))
    world.session.texts.clear()
    outcomes = [world.run(model, 10) for model in (*models, alone)]
    assert [outcome.rows for outcome in outcomes] == [2, 2, 2]
    assert world.answers("one") == world.answers("other")
    looked = [
        text for text in world.session.texts if text.startswith("SELECT unix_micros(_tap_arr)")
    ]
    assert len(looked) == 2  # at 8, and for the one that ran at 7
    arrived = [dict(world.answers(name))[4] for name in ("alone", "one")]
    assert arrived == [7.000001, 8.000001]


def test_few_new_rows_are_joined_step_by_step_and_never_multiplied(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measured_first, "SPARK_KNOWS", -1)  # no table is small enough for it
    chain = (
        "select m.id, r.id as r, s.id as s from {s}.messages m, {s}.messages r, {s}.messages s"
        " where r.parent = m.id and s.parent = r.id"
    )
    assume = ["r.ts >= m.ts", "s.ts >= r.ts"]
    steps = world.model(chain, "steps", assume=assume)
    once = world.model(chain, "once", assume=assume)
    world.run(steps, 20)
    world.add((10, "b", 2, 21), (11, "c", 10, 22), (12, "c", 10, 22), (13, "c", 12, 23))
    world.session.texts.clear()  # type: ignore[attr-defined]
    world.run(steps, 30)
    (text,) = (t for t in world.session.texts if "BROADCAST(near)" in t)  # type: ignore[attr-defined]
    select = text if text.startswith(("SELECT", "WITH")) else text[text.index("\n") :]
    plan = str(world.session.rows(f"EXPLAIN {select}")[0][0])
    assert "BroadcastHashJoin" in plan
    assert "NestedLoop" not in plan
    assert "Cartesian" not in plan
    world.run(once, 30)
    columns = "id, r, s"
    assert world.answers("steps", columns) == world.answers("once", columns)
    assert len(world.answers("steps", columns)) >= 3


@pytest.mark.more
def test_what_is_measured_before_a_run_may_have_its_first_late_rows(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table that keeps late rows is made, or widened, by the run that is being planned."""
    monkeypatch.setattr(measured_first, "SPARK_KNOWS", -1)
    model = world.model(
        "select m.id, r.id as r from {s}.messages m join {s}.messages r on r.parent = m.id"
    )
    world.run(model, 8)
    world.add((4, "c", 3, 4), (5, "d", 3, 9))
    assert world.run(model, 10).rows == 2
    world.session.run(f"alter table {world.schema}.messages add columns (topic string)")
    world.session.run(f"insert into {world.schema}.messages values (6, 'e', 3, {literal(3)}, 't')")
    assert world.run(model, 12).rows == 1
    expected = [(2, 3, 5.0), (3, 4, 8.000001), (3, 5, 9.0), (3, 6, 10.000001)]
    assert world.answers(columns="id, r") == expected


@pytest.mark.parametrize("side", ["new", more("there")])
def test_a_new_column_comes_with_late_rows(world: World, side: str) -> None:
    """Found by hand: the new column's type was asked of a table that the run had yet to widen."""
    world.run(world.model("select id from {s}.messages"), 8)
    if side == "there":
        world.add((4, "c", None, 3))
        world.run(world.model("select id from {s}.messages"), 9)
    world.session.run(
        f"alter table {world.schema}.messages add columns (topic array<decimal(9,2)>)"
    )
    world.session.run(
        f"insert into {world.schema}.messages values (5, 'd', null, {literal(3)}, array(1.25))"
    )
    wider = world.model(
        "select id, topic from {s}.messages",
        on_query_change="continue",
        on_schema_change="append_new_columns",
        verify="full",
    )
    assert world.run(wider, 10).rows == 1
    (found,) = (row for row in world.answers(columns="id, topic") if row[0] == 5)
    assert found == (5, [Decimal("1.25")], 8.000001 + (side == "there"))


def test_late_rows_are_part_of_the_state(world: World) -> None:
    model = world.model(UNANSWERED)
    world.run(model, 10)
    world.add((4, "c", None, 2))
    invocation = world.invocation(12)
    planned = writes(prepare(world.session, model, invocation, False))
    claim(world.session, invocation.state_table, planned.row)  # and killed: nothing is kept yet
    world.run(model, 12)
    world.add((5, "c", None, 13))
    world.run(model, 14)
    before = world.answers()
    side = side_name(f"{world.schema}.target", f"{world.schema}.messages")
    world.session.run(f"drop table {side}")
    world.recall = type(world.recall)()
    for seconds in (16, 30):
        with pytest.raises(StateMissing, match="says when rows that came late") as error:
            world.run(model, seconds)
    assert side in str(error.value)
    assert world.answers() == before
    world.run(model, 30, full_refresh=True)
    assert ids(world.answers()) == [1, 3, 4, 5]


def test_what_spark_cannot_read_is_no_model(world: World) -> None:
    """The other parser takes more than Spark does: nothing is claimed, nothing created."""
    model = world.model("select m.id from {s}.messages m where m.ts overlaps m.ts")
    with pytest.raises(Exception, match="PARSE_SYNTAX_ERROR"):
        world.run(model, 20)
    assert not look(world.session, model.relation)
    assert world.run(world.model(OLD), 20).action == "create"
    with pytest.raises(Exception, match="PARSE_SYNTAX_ERROR"):
        world.run(
            replace(model, config=parse_config("continuous", {"on_query_change": "continue"})), 30
        )
    assert world.states() == [(1,)]


def test_columns_are_those_that_spark_finds(world: World) -> None:
    model = world.model(OLD)
    query = read_query(world.session, model, world.invocation(20), model.sql, None)
    rewritten = f"SELECT {{}} AS id, 'a' AS author, now() AS {MATCHED_AT}"
    refuse_read_otherwise(world.session, model, query, rewritten.format("1"))
    with pytest.raises(Refusal, match="column id as int, the rewriting makes it bigint") as error:
        refuse_read_otherwise(world.session, model, query, rewritten.format("1L"))
    assert "CAST(… AS int) AS id" in str(error.value)
    wider = replace(query, sql="SELECT 1, 2, 3")
    with pytest.raises(Refusal, match="Spark finds 3 columns in this query, the rewriting 2"):
        refuse_read_otherwise(world.session, model, wider)


@pytest.mark.more
def test_names_that_need_quotes(world: World) -> None:
    """Those of a star too, verified in full."""
    odd = f"{world.schema}.odd"
    world.session.run(f"create table {odd} (`größe` int, `user-id` int, ts timestamp) using delta")
    world.session.run(f"insert into {odd} values (1, 2, {literal(1)}), (2, 3, {literal(2)})")
    answered = f"exists (select 1 from {odd} p where p.`user-id` = o.`größe`)"
    sql = f"select * from {odd} o where not {answered}"
    model = replace(world.model(sql, verify="full"), arrivals={odd: ("ts",)})
    assert world.run(model, 1.5).rows == 1
    assert world.run(model, 20).rows == 0
    world.session.run(f"insert into {odd} values (4, 4, {literal(21)}), (5, 7, {literal(21)})")
    assert world.run(model, 30).rows == 1
    assert world.answers(columns="`größe`, `user-id`") == [(1, 2, 1.0), (5, 7, 21.0)]
