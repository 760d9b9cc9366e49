"""Models with aggregates, window functions and LIMIT through runs: evaluated at instants."""

from __future__ import annotations

import pytest
from tests.killed import killed_at
from tests.marks import more
from tests.spark.run_world import World, at, literal, writes

from tapestry.errors import ExpectationFailed, StateMissing, TargetChanged, TooManyInstants
from tapestry.runs.context.recall import Recall
from tapestry.runs.kinds.continuous.after.plan_rewind import plan_rewind
from tapestry.runs.kinds.continuous.after.rewind import rewind
from tapestry.runs.protocol import crash

COUNTS = "select m.author, count(*) as n from {s}.messages m group by m.author"
CLOSED = (
    "select date_trunc('minute', m.ts) as minute, count(*) as n from {s}.messages m"
    " group by date_trunc('minute', m.ts)"
    " having now() >= date_trunc('minute', m.ts) + interval 1 minute"
)
LATEST = (
    "select x.author, x.id from (select m.*, row_number() over (partition by m.author"
    " order by m.ts desc, m.id desc) as rank from {s}.messages m) x where x.rank = 1"
)


def test_every_count_is_an_answer_once(world: World) -> None:
    model = world.model(COUNTS, verify="full")
    world.run(model, 3)
    assert world.answers(columns="author, n") == [("a", 1, 0.0), ("b", 1, 1.0)]
    world.run(model, 6)
    world.add((4, "b", None, 8), (5, "c", None, 8), (6, "c", None, 8))
    world.run(model, 10)
    assert world.answers(columns="author, n") == [
        ("a", 1, 0.0),
        ("a", 2, 5.0),
        ("b", 1, 1.0),
        ("b", 2, 8.0),
        ("c", 2, 8.0),
    ]


def test_a_run_that_finds_nothing_new_lands(world: World) -> None:
    world.run(world.model(COUNTS), 6)
    model = world.model(COUNTS, on_source_rewrite="deletes_ok")
    world.session.run(f"delete from {world.schema}.messages where id = 3")
    assert world.run(model, 8).rows == 0
    assert world.states() == [(1,), (2,)]
    world.add((7, "a", None, 9))
    assert world.run(model, 10).rows == 0, "a count of 2 was an answer before"


def test_a_period_is_an_answer_when_it_is_over_and_again_when_a_row_is_late(world: World) -> None:
    model = world.model(CLOSED, verify="full")
    assert world.run(model, 30).rows == 0
    world.add((4, "b", None, 40))
    world.run(model, 70)
    counted = "cast(unix_timestamp(minute) % 60 as int) as s, n"
    assert world.answers(columns=counted) == [(0, 4, 60.0)]
    world.add((5, "b", None, 50), (6, "b", None, 65))
    world.run(model, 100)
    assert world.answers(columns=counted) == [(0, 4, 60.0), (0, 5, 70.000001)]


def test_the_latest_of_a_key_and_when_it_was_loaded(world: World) -> None:
    model = world.model(
        LATEST.replace("x.id from", "x.id, now() as loaded_at from", 1), verify="full"
    )
    world.run(model, 3)
    world.run(model, 6)
    world.add((4, "a", None, 7))
    world.run(model, 9)
    loaded = f"author, id, double((unix_micros(loaded_at) - unix_micros({literal(0)})) / 1e6)"
    assert world.answers(columns=loaded) == [
        ("a", 1, 0.0, 0.0),
        ("a", 3, 5.0, 5.0),
        ("a", 4, 7.0, 7.0),
        ("b", 2, 1.0, 1.0),
    ]


def test_what_an_expectation_keeps_out_is_known(world: World) -> None:
    small = {"name": "small", "expect": "n < 2", "on_violation": "drop"}
    model = world.model(COUNTS, expectations=[small], on_source_rewrite="deletes_ok")
    world.run(model, 6)
    assert world.answers(columns="author, n") == [("a", 1, 0.0), ("b", 1, 1.0)]
    world.session.run(f"delete from {world.schema}.messages where id = 3")
    world.run(model, 8)
    world.add((7, "a", None, 9))
    world.run(model, 10)
    rejected = world.session.rows(f"select author, n from {world.schema}.target__rejected")
    assert rejected == [("a", 2)]


def test_a_new_query_counts_from_the_end_of_the_last_run_on(world: World) -> None:
    world.run(world.model(COUNTS), 6)
    changed = COUNTS.replace("group by", "where m.id > 0 group by")
    model = world.model(changed, on_query_change="continue", verify="full")
    world.add((4, "b", None, 7))
    world.run(model, 8)
    world.add((5, "b", None, 9), (6, "c", None, 9))
    world.run(model, 10)
    assert world.answers(columns="author, n")[-3:] == [
        ("b", 2, 7.0),
        ("b", 3, 9.0),
        ("c", 1, 9.0),
    ]
    assert len(world.answers(columns="author, n")) == 6


def test_too_many_instants_stop_a_run_before_it_computes_them(world: World) -> None:
    counts = COUNTS + " having max(m.ts) <= now()"
    model = world.model(counts, instants_limit=3)
    with pytest.raises(TooManyInstants, match=r"5 pairs [\s\S]*: 3; most of them for \(a\) 4"):
        world.run(model, 6)
    assert world.run(world.model(counts, instants_limit=5), 6).rows == 3


def test_an_answer_that_was_deleted_does_not_come_again(world: World) -> None:
    model = world.model(COUNTS, on_source_rewrite="deletes_ok", on_target_change="accept")
    world.run(model, 6)
    world.session.run(f"delete from {world.schema}.target where author = 'a'")
    world.session.run(f"delete from {world.schema}.messages where id = 3")
    world.run(model, 8)
    assert world.run(model, 8).action == "nothing"
    assert not [row for row in world.answers(columns="author, n") if row[0] == "a"]


def known(world: World) -> int:
    return len(world.session.rows(f"select * from {world.schema}.target__known"))


@pytest.mark.parametrize(
    "died", ["before_written", *(more(p) for p in crash.POINTS if p != "before_written")]
)
def test_a_run_that_died_notes_what_was_deleted_all_the_same(world: World, died: str) -> None:
    """Deleted before its claim: it is executed again; deleted after it: the next run notes it."""
    model = world.model(COUNTS, on_source_rewrite="deletes_ok", on_target_change="accept")
    world.run(model, 6)
    world.session.run(f"delete from {world.schema}.target where author = 'a' and n = 1")
    world.session.run(f"delete from {world.schema}.messages where id = 3")
    with killed_at(died):
        world.run(model, 8)
    world.recall = Recall()
    world.session.run(f"delete from {world.schema}.target where author = 'a' and n = 2")
    world.run(model, 9)
    world.add((7, "a", None, 10))
    world.run(model, 11)
    assert world.answers(columns="author, n") == [("b", 1, 1.0)]
    assert known(world) == 2


def test_a_run_that_was_closed_has_noted_nothing(world: World) -> None:
    config = {"on_source_rewrite": "deletes_ok", "on_target_change": "accept"}
    world.run(world.model(COUNTS, **config), 6)
    world.session.run(f"delete from {world.schema}.target where author = 'a'")
    world.session.run(f"delete from {world.schema}.messages where id = 3")
    world.add((7, "b", None, 7))
    small = {"name": "small", "expect": "n < 2", "on_violation": "fail"}
    with pytest.raises(ExpectationFailed):
        world.run(world.model(COUNTS, **config, expectations=[small]), 8)
    assert known(world) == 0
    world.run(world.model(COUNTS, **config), 8)
    world.run(world.model(COUNTS, **config), 9)
    assert world.answers(columns="author, n") == [("b", 1, 1.0), ("b", 2, 7.0)]
    assert known(world) == 2


def test_a_rewind_forgets_of_what_was_deleted_what_came_later(world: World) -> None:
    model = world.model(COUNTS, on_source_rewrite="deletes_ok", on_target_change="accept")
    world.run(model, 3)
    world.run(model, 6)
    world.session.run(f"delete from {world.schema}.target where author = 'a'")
    invocation = world.invocation(7)
    planned = plan_rewind(world.session, model, invocation, at(4))
    assert planned is not None
    rewind(world.session, planned, invocation)
    assert known(world) == 1
    world.run(model, 8)
    assert world.answers(columns="author, n") == [("a", 2, 5.0), ("b", 1, 1.0)]
    world.session.run(f"delete from {world.schema}.messages where id = 3")
    world.run(model, 9)
    assert len(world.answers(columns="author, n")) == 2, "a count of 1 stays known"


def test_a_full_refresh_knows_nothing_of_what_was_deleted(world: World) -> None:
    model = world.model(COUNTS, on_target_change="accept")
    world.run(model, 6)
    world.session.run(f"delete from {world.schema}.target where author = 'a'")
    world.run(model, 7)
    assert known(world) == 2
    world.run(model, 8, full_refresh=True)
    assert known(world) == 0
    assert len(world.answers(columns="author, n")) == 3


def test_what_was_deleted_is_told_while_the_history_tells_it(world: World) -> None:
    model = world.model(COUNTS, on_target_change="accept")
    world.run(model, 6)
    table = f"{world.schema}.target"
    world.session.run(f"delete from {table} where author = 'a' and n = 2")
    off = "spark.databricks.delta.retentionDurationCheck.enabled"
    world.session.run(f"set {off} = false")
    world.session.run(f"vacuum {table} retain 0 hours")
    world.session.run(f"reset {off}")
    with pytest.raises(TargetChanged, match=r"no longer says which: version 0 [\s\S]*full-refresh"):
        world.run(model, 7)
    assert world.states() == [(1,)]
    world.run(world.model(COUNTS), 7, full_refresh=True)


def test_without_the_table_of_what_was_deleted_no_run_goes_on(world: World) -> None:
    model = world.model(COUNTS, on_target_change="accept")
    world.run(model, 6)
    world.session.run(f"delete from {world.schema}.target where author = 'a'")
    assert "2 answers deleted from its table" in writes(world.plan(model, 7)).told.warnings[-1]
    world.run(model, 7)
    world.session.run(f"drop table {world.schema}.target__known")
    world.add((7, "a", None, 8))
    with pytest.raises(StateMissing, match="target__known is gone"):
        world.run(model, 9)


def test_what_counts_by_rows_beside_what_counts_by_values(world: World) -> None:
    """A row of the one arm comes though the other arm has had its values before."""
    model = world.model(
        "select m.author, count(*) as n, 'count' as kind from {s}.messages m group by m.author"
        " union all select m.author, cast(1 as bigint) as n, 'row' as kind from {s}.messages m",
        on_source_rewrite="deletes_ok",
        on_target_change="accept",
    )
    world.run(model, 3)
    world.session.run(f"delete from {world.schema}.target where author = 'a'")
    world.run(model, 6)
    world.session.run(f"delete from {world.schema}.messages where id = 3")
    world.run(model, 8)
    assert world.answers(columns="author, n, kind") == [
        ("a", 1, "row", 5.0),
        ("a", 2, "count", 5.0),
        ("b", 1, "count", 1.0),
        ("b", 1, "row", 1.0),
    ]
