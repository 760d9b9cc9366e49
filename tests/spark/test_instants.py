"""Models with aggregates, window functions and LIMIT through runs: evaluated at instants."""

from __future__ import annotations

from typing import Any

import pytest
from tests.spark.run_world import World, literal

from tapestry.errors import TooManyInstants

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


@pytest.fixture
def world(session: Any, schema: str) -> World:
    return World(session, schema).create()


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
    model = world.model(COUNTS, instants_limit=3)
    with pytest.raises(TooManyInstants, match=r"5 pairs [\s\S]*: 3; most of them for \(a\) 4"):
        world.run(model, 6)
    assert world.run(world.model(COUNTS, instants_limit=5), 6).rows == 3


@pytest.mark.xfail(strict=True, reason="only the table says which values are known")
def test_an_answer_that_was_deleted_does_not_come_again(world: World) -> None:
    model = world.model(COUNTS, on_source_rewrite="deletes_ok", on_target_change="accept")
    world.run(model, 6)
    world.session.run(f"delete from {world.schema}.target where author = 'a'")
    world.session.run(f"delete from {world.schema}.messages where id = 3")
    world.run(model, 8)
    assert world.run(model, 8).rows == 0
    assert not [row for row in world.answers(columns="author, n") if row[0] == "a"]
