"""``on_source_rewrite: deletes_ok``: a deleted row was there up to the end of the last run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.killed import killed_at
from tests.marks import more
from tests.spark.run_world import UNANSWERED, World, at

from tapestry.errors import SourceRewritten
from tapestry.runs.kinds.continuous.after.audit import audit
from tapestry.runs.kinds.continuous.after.plan_rewind import plan_rewind
from tapestry.runs.kinds.continuous.after.preview import preview
from tapestry.runs.kinds.continuous.after.rewind import rewind
from tapestry.runs.model.model import Model

pytestmark = pytest.mark.gate

DISTINCT = "select distinct m.author as id from {s}.messages m"
_REPLY = "(select 1 from {s}.messages r where r.parent = m.id)"
ANSWERED = f"select m.id from {{s}}.messages m where exists {_REPLY}"
JOINED = "select m.id, r.id as r from {s}.messages m join {s}.messages r on r.parent = m.id"


def _model(world: World, sql: str, verify: str = "full") -> Model:
    return world.model(sql, on_source_rewrite="deletes_ok", verify=verify)


def _delete(world: World, condition: str) -> None:
    world.session.run(f"delete from {world.schema}.messages where {condition}")


def _rewind(world: World, model: Model, to: float) -> None:
    invocation = world.invocation(60)
    planned = plan_rewind(world.session, model, invocation, at(to))
    assert planned is not None
    rewind(world.session, planned, invocation)


def _kept(world: World) -> list[tuple[Any, ...]]:
    """The tables beside the target for rows of the source."""
    return world.session.rows(f"show tables in {world.schema} like 'target__late_*'")


@pytest.mark.more
@pytest.mark.parametrize("verify", ["off", more("full")])
def test_what_distinct_has_delivered_does_not_come_again(world: World, verify: str) -> None:
    model = _model(world, DISTINCT, verify)
    world.run(model, 20)
    _delete(world, "author = 'b'")
    world.run(model, 30)
    world.add((4, "b", None, 31), (5, "c", None, 31))
    world.run(model, 40)
    assert world.answers() == [("a", 0), ("b", 1), ("c", 31)]


@pytest.mark.parametrize("verify", [more("off"), "full"])
def test_a_message_is_unanswered_once_its_reply_is_deleted(world: World, verify: str) -> None:
    model = _model(world, UNANSWERED, verify)
    world.run(model, 20)
    assert world.answers() == [(1, 10), (3, 15)]
    _delete(world, "id = 3")
    world.run(model, 30)
    assert world.answers() == [(1, 10), (2, 20.000001), (3, 15)]
    world.add((4, "a", 1, 31))
    world.run(model, 50)
    assert world.answers() == [(1, 10), (2, 20.000001), (3, 15), (4, 41)]


@pytest.mark.more
def test_only_the_run_that_finds_rows_gone_asks_when_they_ended(world: World) -> None:
    """They end at its first instant; from there on the rows that are left say everything."""
    model = _model(world, UNANSWERED, "off")
    world.run(model, 20)
    _delete(world, "id = 3")
    world.add((4, "a", None, 20.000001), (5, "a", None, 10.000001), (6, "b", 5, 15))
    found = world.plan_rows(model, 30)
    assert found.told.figures.strategy == "gaps"
    assert found.rows.select.count("UNION ALL SELECT * FROM (") == 1
    world.run(model, 30)
    world.add((7, "b", 4, 31), (8, "a", None, 32))
    later = world.plan_rows(model, 50)
    assert later.told.figures.strategy == "anti_join"
    assert "_ended <" not in later.rows.select
    world.run(model, 50)
    assert world.answers() == [
        *((1, 10), (2, 20.000001), (3, 15), (4, 30.000001)),
        *((6, 25), (7, 41), (8, 42)),
    ]


@pytest.mark.more
def test_a_window_of_the_one_instant_at_which_rows_end(world: World) -> None:
    model = _model(world, UNANSWERED, "full")
    world.run(model, 20)
    _delete(world, "id = 3")
    world.add((4, "a", None, 10.000001))
    world.run(model, 20.000001)
    assert world.answers() == [(1, 10), (2, 20.000001), (3, 15), (4, 20.000001)]
    world.run(model, 40)
    assert world.answers() == [(1, 10), (2, 20.000001), (3, 15), (4, 20.000001)]


@pytest.mark.more
def test_an_alternative_that_never_held_for_a_row_now_gone(world: World) -> None:
    """With two alternatives the rows that ended are asked about in every run."""
    reply = "not exists (select 1 from {s}.messages r where r.parent = m.id)"
    first = "m.ts <= now() - interval 5 seconds and m.ts > now() - interval 12 seconds"
    second = "m.ts <= now() - interval 40 seconds"
    sql = f"select m.id from {{s}}.messages m where ({first} and {reply}) or ({second} and {reply})"
    model = _model(world, sql)
    world.run(model, 20)
    assert world.answers() == [(1, 5), (3, 10)]
    _delete(world, "id = 3")
    world.run(model, 30)
    world.add((4, "a", None, 30))
    world.run(model, 50)
    assert world.answers() == [(1, 5), (2, 41), (3, 10), (4, 35)]


@pytest.mark.more
@pytest.mark.parametrize("verify", ["off", "sample", "full"])
def test_what_is_assumed_of_a_source_is_assumed_of_its_ended_rows(
    world: World, verify: str
) -> None:
    model = world.model(
        UNANSWERED, on_source_rewrite="deletes_ok", verify=verify, assume=["r.ts >= m.ts"]
    )
    world.run(model, 20)
    _delete(world, "id = 3")
    assert len(world.plan_rows(model, 30).proof.assumptions) == 1
    world.run(model, 30)
    world.add((4, "a", 1, 31), (5, "a", 4, 32), (6, "b", None, 33))
    world.run(model, 50)
    assert world.answers() == [(1, 10), (2, 20.000001), (3, 15), (5, 42), (6, 43)]


@pytest.mark.more
def test_a_deleted_row_is_matched_no_more(world: World) -> None:
    model = _model(world, ANSWERED)
    world.run(model, 20)
    _delete(world, "id = 1")
    world.run(model, 30)
    world.add((4, "a", 1, 31), (5, "a", 3, 32))
    world.run(model, 40)
    assert world.answers() == [(2, 5), (3, 32)]


def test_a_row_that_comes_back_is_there_again(world: World) -> None:
    model = _model(world, JOINED)
    world.run(model, 20)
    _delete(world, "id = 3")
    world.run(model, 30)
    world.add((3, "a", 2, 5))
    world.run(model, 40)
    assert world.answers(columns="id, r") == [(2, 3, 5), (2, 3, 30.000001)]


@pytest.mark.more
def test_a_query_that_does_not_look_back_keeps_nothing(world: World) -> None:
    model = _model(world, JOINED)
    world.run(model, 20)
    _delete(world, "id = 3")
    world.run(model, 30)
    world.add((4, "a", 1, 31))
    world.run(model, 40)
    assert world.answers(columns="id, r") == [(1, 4, 31), (2, 3, 5)]
    assert _kept(world) == []


@pytest.mark.more
@pytest.mark.parametrize("point", ["claimed", "before_written", "committed"])
def test_a_run_that_is_killed_ends_a_row_once(world: World, point: str) -> None:
    model = _model(world, UNANSWERED)
    world.run(model, 20)
    _delete(world, "id = 3")
    with killed_at(point):
        world.run(model, 30)
    world.recall = type(world.recall)()
    world.run(model, 40)
    world.add((4, "a", None, 41))
    world.run(model, 60)
    assert world.answers() == [(1, 10), (2, 20.000001), (3, 15), (4, 51)]
    ended = world.session.rows(
        f"select count(distinct _row_id) from {world.schema}.{_kept(world)[0][1]} where id = 3"
    )
    assert len(_kept(world)) == 1
    assert ended[0][0] >= 1


@pytest.mark.more
def test_a_rewind_takes_along_what_had_ended(world: World) -> None:
    model = _model(world, DISTINCT)
    world.run(model, 20)
    _delete(world, "author = 'b'")
    world.run(model, 30)
    world.add((4, "c", None, 38))
    world.run(model, 40)
    _rewind(world, model, 35)
    assert world.answers() == [("a", 0), ("b", 1)]
    world.add((5, "b", None, 41))
    world.run(model, 50)
    assert world.answers() == [("a", 0), ("b", 1), ("c", 38)]


@pytest.mark.more
def test_after_a_rewind_to_before_it_was_deleted_a_row_ends_there(world: World) -> None:
    """As if the run that went past T had ended at T: the next one finds the row gone."""
    model = _model(world, UNANSWERED)
    world.run(model, 20)
    _delete(world, "id = 3")
    world.run(model, 30)
    _rewind(world, model, 12)
    assert world.answers() == [(1, 10)]
    world.run(model, 40)
    assert world.answers() == [(1, 10), (2, 12.000001)]


@pytest.mark.parametrize(
    ("to", "verify", "held"),
    [
        more(20, "off", [(1, 10), (2, 20.000001), (3, 15), (4, 20.000001), (5, 24)]),
        more(20, "full", [(1, 10), (2, 20.000001), (3, 15), (4, 20.000001), (5, 24)]),
        more(12, "full", [(1, 10), (2, 12.000001), (4, 13), (5, 24)]),
    ],
)
def test_a_rewind_of_a_rewind_asks_about_the_ends_that_it_took_along(
    world: World, to: float, verify: str, held: list[tuple[int, float]]
) -> None:
    """The first one goes on without the row: only its end says that it was there."""
    model = _model(world, UNANSWERED, verify)
    world.run(model, 20)
    _delete(world, "id = 3")
    world.add((4, "a", None, 3), (5, "a", 1, 14))  # late, and there for good
    world.run(model, 30)
    _rewind(world, model, 25)
    _rewind(world, model, to)
    world.run(model, 40)
    assert world.answers() == held


def _with_people(world: World, model: Model) -> Model:
    """The model with a look-up table: somebody without messages, and without name."""
    people, values = f"{world.schema}.people", "('x'), ('a'), ('a'), (null) as p(id)"
    world.session.run(f"create table {people} using delta as select * from values {values}")
    return replace(model, arrivals={**model.arrivals, people: ("static",)})


@pytest.mark.more
@pytest.mark.parametrize("verify", [more("off"), more("sample"), "full"])
def test_time_begins_where_it_did_once_the_earliest_rows_are_deleted(
    world: World, verify: str
) -> None:
    silent = "not exists (select 1 from {s}.messages m where m.author = p.id)"
    model = _model(world, f"select p.id from {{s}}.people p where {silent}", verify)
    model = _with_people(world, model)
    world.run(model, 20)
    _delete(world, "true")
    world.add((4, "d", None, 25))
    world.run(model, 30)
    world.run(model, 40)
    found = sorted(world.answers(order=False), key=str)
    assert found == [("a", 20.000001), ("a", 20.000001), ("x", 0), (None, 0)]


@pytest.mark.more
@pytest.mark.parametrize("verify", [more("off"), "full"])
def test_rows_that_decide_about_nothing_but_when_time_begins(world: World, verify: str) -> None:
    """They are kept; and static rows, which have no part in that, may go."""
    sql = "select p.id from {s}.people p union all select m.author from {s}.messages m"
    model = _with_people(world, _model(world, sql, verify))
    world.run(model, 20)
    _delete(world, "true")
    world.session.run(f"delete from {world.schema}.people where id = 'x'")
    world.add((4, "d", None, 25))
    world.run(model, 30)
    world.run(model, 40)
    found = sorted(world.answers(order=False), key=str)
    people, authors = [("a", 0), ("a", 0)], [("a", 0), ("a", 5), ("b", 1), ("d", 25)]
    assert found == [*people, *authors, ("x", 0), (None, 0)]


@pytest.mark.parametrize(("kind", "goes_on"), [more("exists", False), ("join", True)])
def test_a_table_without_time_must_not_lose_rows_that_count_later(
    world: World, kind: str, goes_on: bool
) -> None:
    people = f"{world.schema}.people"
    world.session.run(f"create table {people} using delta as select 'a' as name")
    is_one = f"{people} p where p.name = m.author"
    where = {
        "exists": f"where exists (select 1 from {is_one})",
        "join": f"join {is_one}".replace("where", "on"),
    }
    model = _model(world, f"select m.id from {{s}}.messages m {where[kind]}")
    model = replace(model, arrivals={**model.arrivals, people: ("static",)})
    world.run(model, 20)
    world.session.run(f"delete from {people}")
    world.add((4, "a", None, 21))
    if goes_on:
        world.run(model, 30)
    else:
        with pytest.raises(SourceRewritten, match="people"):
            world.run(model, 30)
    assert world.answers() == [(1, 0), (3, 5)]


@pytest.mark.more
def test_the_whole_answer_is_compared_with_the_rows_that_ended(world: World) -> None:
    model = _model(world, UNANSWERED)
    world.run(model, 20)
    _delete(world, "id = 3")
    world.run(model, 30)
    found = audit(world.session, model, world.invocation(30), "full")
    assert [result.status for result in found.results] == ["pass", "pass"]
    shown = preview(world.session, model, world.invocation(40), stored=True)
    assert "runs read rows of" in " ".join(shown.notes)
