"""What sources hold at the edges: types that grow, far instants, names of ours, skipped hours."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

import pytest
from tests.spark.run_world import World, literal

from tapestry.errors import QueryChanged, Refusal
from tapestry.runs.context.clock import Clock
from tapestry.runs.context.invocation import Invocation
from tapestry.runs.kinds.registry import execute, prepare

pytestmark = pytest.mark.gate

PARENTS = "select m.id, m.parent from {s}.messages m"


# -- types of columns -----------------------------------------------------------------------------
@pytest.mark.more
@pytest.mark.parametrize("verify", [pytest.param("off", marks=pytest.mark.more), "sample"])
def test_a_source_with_a_wider_type_rounds_nothing(world: World, verify: str) -> None:
    model = world.model(PARENTS, verify=verify)
    world.run(model, 6)
    before = world.answers(columns="id, parent", order=False)
    world.session.run(
        f"alter table {world.schema}.messages set tblproperties"
        " ('delta.enableTypeWidening' = 'true')"
    )
    world.session.run(f"alter table {world.schema}.messages alter column parent type double")
    world.session.run(f"insert into {world.schema}.messages values (4, 'd', 1.5, {literal(7)})")
    with pytest.raises(QueryChanged, match="parent is double in the query now, but int") as told:
        world.run(model, 8)
    assert world.answers(columns="id, parent", order=False) == before
    for statement in (
        str(told.value).split("widen the table: ")[1].split("; or")[0].split(", then ")
    ):
        world.session.run(statement)
    assert world.run(model, 9).rows == 1
    assert (4, 1.5, 7.0) in world.answers(columns="id, parent", order=False)


@pytest.mark.more
def test_a_changed_query_of_another_type_rounds_nothing(world: World) -> None:
    model = world.model(PARENTS, on_query_change="continue")
    world.run(model, 6)
    world.add((4, "d", 3, 7))
    half = world.model("select m.id, m.parent / 2 as parent from {s}.messages m")
    with pytest.raises(QueryChanged, match=r"CAST\(… AS int\) AS parent"):
        world.run(replace(half, config=model.config), 8)
    assert world.run(model, 8).rows == 1


@pytest.mark.more
def test_a_type_that_the_table_holds_is_taken(world: World) -> None:
    model = world.model(
        "select cast(m.id as bigint) as id, cast(m.ts as timestamp) as seen from {s}.messages m",
        on_query_change="continue",
    )
    world.run(model, 6)
    world.add((4, "d", 3, 86_400))
    less = world.model("select m.id, cast(m.ts as date) as seen from {s}.messages m")
    assert world.run(replace(less, config=model.config), 90_000).rows == 1
    assert world.answers(columns="id, day(seen)")[-1] == (4, 2, 86_400.0)


def test_parts_of_a_type_grow_as_the_message_says(world: World) -> None:
    """Behind the 25th field of a struct, where Spark's own description ends, and in an array."""
    fields = ", ".join(f"f{n}: int" for n in range(29))
    table = f"{world.schema}.messages"
    kinds = f"wide struct<{fields}, `user-Id`: int>, list array<struct<a: int>>"
    world.session.run(f"alter table {table} add columns ({kinds})")
    world.session.run(
        f"alter table {table} set tblproperties ('delta.enableTypeWidening' = 'true')"
    )
    model = world.model("select m.id, m.wide, m.list from {s}.messages m")
    world.run(model, 6)
    world.session.run(f"alter table {table} alter column wide.`user-Id` type double")
    world.session.run(f"alter table {table} alter column list.element.a type bigint")
    listed = ", ".join(f"'f{n}', {n}" for n in range(29))
    world.session.run(
        f"insert into {table} values (4, 'd', null, {literal(7)},"
        f" named_struct({listed}, 'user-Id', 1.5d), array(named_struct('a', 5000000000)))"
    )
    for what in (
        r"wide\.`user-Id` is double in the query now, but int",
        r"list\.element\.a is big",
    ):
        with pytest.raises(QueryChanged, match=what) as told:
            world.run(model, 8)
        widen = str(told.value).split("widen the table: ")[1].split("; or")[0]
        for statement in widen.split(", then "):
            world.session.run(statement)
    assert world.run(model, 8).rows == 1
    assert world.answers(columns="id, wide.`user-Id`, list[0].a")[-1][:3] == (4, 1.5, 5000000000)


@pytest.mark.more
def test_the_advised_cast_of_a_struct_is_taken(world: World) -> None:
    made = "named_struct('Ab', m.id, 'user-Id', {0}) as st"
    text = "select m.id, {0} from {{s}}.messages m"
    model = world.model(text.format(made.format("m.parent")), verify="full")
    world.run(model, 6)
    world.add((4, "d", 3, 7))
    half = world.model(text.format(made.format("m.parent / 2")), on_query_change="continue")
    with pytest.raises(QueryChanged, match=r"st\.`user-Id` is double in the query") as told:
        world.run(half, 8)
    cast = str(told.value).split("write ")[1].split("; or")[0]
    assert cast == "CAST(… AS struct<Ab:int,`user-Id`:int>) AS st"
    cast = cast.replace("…", made.format("m.parent / 2").removesuffix(" as st"))
    mended = world.model(text.format(cast), on_query_change="continue", verify="full")
    assert world.run(mended, 8).rows == 1
    assert world.answers(columns="id, st.Ab, st.`user-Id`")[-1][:3] == (4, 4, 1)


@pytest.mark.more
def test_structs_that_a_query_makes(world: World) -> None:
    """Their fields keep their letters, whatever counts by value."""
    made = "select distinct struct(m.id % 2 AS Odd, m.parent AS `p-P`) as st from {s}.messages m"
    also = " union select named_struct('odd', 7, 'P-p', 1) from {s}.messages m where m.id > 2"
    model = world.model(made + also, verify="full")
    world.run(model, 6)
    world.add((4, "d", 3, 7))
    world.run(model, 8)
    kinds = world.session.rows(f"describe table {model.relation}")
    assert kinds[0][1] == "struct<Odd:int,p-P:int>"
    assert (7, 1) in [row[:2] for row in world.answers(columns="st.Odd, st.`p-P`", order=False)]


@pytest.mark.more
def test_a_wide_struct_is_added_to_the_table(world: World) -> None:
    model = world.model("select m.id from {s}.messages m")
    world.run(model, 6)
    world.add((4, "d", 3, 7))
    listed = ", ".join(f"'f{n}', {n}" for n in range(30))
    more = world.model(
        f"select m.id, named_struct({listed}, 'user-Id', m.id) as wide from {{s}}.messages m",
        on_query_change="continue",
        on_schema_change="append_new_columns",
    )
    assert world.run(more, 8).rows == 1
    assert world.answers(columns="id, wide.`user-Id`, wide.f29")[-1][:3] == (4, 4, 29)


def test_types_are_asked_for_once_in_a_process(world: World) -> None:
    model = world.model(PARENTS)
    asked = []
    for second in (6, 8, 10):
        world.add((second, "d", None, second - 0.5))
        world.session.texts.clear()  # type: ignore[attr-defined]
        assert world.run(model, second).rows
        texts = world.session.texts  # type: ignore[attr-defined]
        asked.append(sum(t.startswith("DESCRIBE QUERY") for t in texts))
    assert asked[1:] == [1, 0]


# -- instants that no run reaches -----------------------------------------------------------------
@pytest.mark.parametrize(
    "bound", ["m.ts + interval 8000 years", "coalesce(m.due, m.ts) + interval 1 day"]
)
def test_a_bound_beyond_all_years_is_never_due(world: World, bound: str) -> None:
    world.session.run(f"alter table {world.schema}.messages add columns (due timestamp)")
    world.session.run(
        f"insert into {world.schema}.messages values"
        f" (4, 'd', null, {literal(2)}, timestamp'9999-12-31 00:00:00')"
    )
    model = world.model(f"select m.id from {{s}}.messages m where m.id = 4 and now() > {bound}")
    assert [world.run(model, second).action for second in (6, 8, 9)] == [
        "create",
        "nothing",
        "nothing",
    ]
    assert world.answers() == []


@pytest.mark.parametrize("year", ["0001", pytest.param("-0044", marks=pytest.mark.more)])
def test_a_late_row_of_the_first_year_arrives(world: World, year: str) -> None:
    model = world.model("select m.id from {s}.messages m", verify="full")
    world.run(model, 6)
    world.session.run(
        f"insert into {world.schema}.messages values"
        f" (4, 'd', null, timestamp'{year}-01-01 00:00:00')"
    )
    assert world.run(model, 8).rows == 1
    assert world.answers()[-1] == (4, 6.000001)
    world.add((5, "e", None, 7))
    assert world.run(model, 10).rows == 1
    assert world.answers()[-1] == (5, 8.000001)


# -- names ----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "means",
    [
        "statistics",
        pytest.param("row tracking", marks=pytest.mark.more),
        pytest.param("bags", marks=pytest.mark.more),
    ],
)
def test_columns_may_have_names_that_queries_like(session: Any, schema: str, means: str) -> None:
    names = ["_arr", "_n", "_copy", "_known", "_s", "_l", "_v", "_t", "_d", "_id", "_is", "_k0"]
    tracked = " tblproperties ('delta.enableRowTracking' = 'true')" * (means == "row tracking")
    listed = ", ".join(f"{name} int" for name in names)
    session.run(
        f"create table {schema}.messages (id int, ts timestamp, {listed}) using delta{tracked}"
    )
    world = World(session, schema)
    columns = ", ".join(f"m.{name} as c{name}" for name in names)
    model = world.model(f"select m.id, {columns} from {{s}}.messages m", verify="full")
    values = ", ".join("1" for _ in names)
    for number, (ts, t) in enumerate([(1, 2), (1.5, 4), (1.5, 6)]):
        session.run(f"insert into {schema}.messages values ({number}, {literal(ts)}, {values})")
        if means == "bags":  # a rewritten file: compared as a whole
            session.run(f"update {schema}.messages set _n = 1 where id = {number}")
        assert world.run(model, t).rows == 1
    assert world.answers() == [(0, 1.0), (1, 2.000001), (2, 4.000001)]


def test_names_of_ours_are_refused_at_once(world: World) -> None:
    world.session.run(f"alter table {world.schema}.messages add columns (_Tap_arr int)")
    with pytest.raises(Refusal, match="has a column _Tap_arr, a name that a run needs"):
        world.run(world.model(PARENTS), 6)


# -- local times ----------------------------------------------------------------------------------
@pytest.fixture
def new_york(session: Any) -> Iterator[Any]:
    session.run("set time zone 'America/New_York'")
    yield session
    session.run("set time zone 'UTC'")


@pytest.mark.more
@pytest.mark.parametrize(
    ("tracking", "verify"),
    [
        ("false", "sample"),
        pytest.param("true", "sample", marks=pytest.mark.more),
        pytest.param("false", "off", marks=pytest.mark.more),
        pytest.param("true", "off", marks=pytest.mark.more),
    ],
)
def test_the_hour_that_spring_skips(new_york: Any, schema: str, tracking: str, verify: str) -> None:
    """02:30 does not exist on that day: it is 07:30 UTC, and 03:00 after it is 07:00 UTC."""
    new_york.run(
        f"create table {schema}.messages (id int, ts timestamp_ntz) using delta"
        f" tblproperties ('delta.enableRowTracking' = '{tracking}')"
    )
    world = World(new_york, schema)
    model = world.model("select m.id from {s}.messages m", verify=verify)

    def run(hour: int, minute: int) -> int | None:
        clock = Clock(datetime(2025, 3, 9, hour, minute, tzinfo=timezone.utc), True)
        state = f"{schema}.tapestry_state"
        invocation = Invocation("test", clock, state, "America/New_York", world.recall)
        return execute(new_york, prepare(new_york, model, invocation, False), invocation).rows

    def insert(*rows: tuple[int, str]) -> None:
        values = ", ".join(f"({number}, timestamp_ntz'2025-03-{day}')" for number, day in rows)
        new_york.run(
            f"insert into {schema}.messages select /*+ coalesce(1) */ * from values {values}"
        )

    insert((1, "08 00:00"))
    assert run(7, 10) == 1
    insert((2, "09 02:30"), (3, "09 03:00"))
    assert run(9, 0) == 2
    minutes = new_york.rows(
        f"select id, unix_micros(_matched_at) - unix_micros(timestamp'2025-03-09 07:00:00+00:00')"
        f" from {schema}.target where id > 1 order by id"
    )
    assert minutes == [(2, 30 * 60_000_000), (3, 10 * 60_000_000 + 1)]
