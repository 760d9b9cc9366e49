"""What was read of a text against what Spark makes of it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.spark.run_world import UNANSWERED, World

from tapestry.errors import Refusal
from tapestry.runs.kinds.continuous.query import Query, read_query
from tapestry.runs.query import refuse_read_apart as reading_apart
from tapestry.runs.query.refuse_read_apart import planned_alike, refuse_read_apart
from tapestry.sql.read.open_qualify import without_qualify

pytestmark = pytest.mark.gate

ALIKE = (
    UNANSWERED,
    "select * from {s}.messages where now() > ts -- all\n;\n-- of them\n;",
    "select distinct m.id as `a b`, parent from {s}.messages m group by id, parent",
    "with a as (select id from {s}.messages) select id from a union all select parent from"
    " {s}.messages where datediff(day, ts, now()) > 1 and date_trunc('hour', ts) < now()",
    "select id from {s}.messages except select parent from {s}.messages where author in ('a', 'B')",
    "select m.id from {s}.messages m, {s}.messages r where m.id = r.parent or author like 'a%'"
    "".replace("author", "m.author"),
)
APART = {
    "a clause": ("select id from {s}.messages limit 1", "select id from {s}.messages"),
    "DISTINCT": (
        "select distinct ts > '2020-01-01' as c from {s}.messages",
        "select ts > '2020-01-01' as c from {s}.messages",
    ),
    "a constant": (
        "select id, false as c from {s}.messages",
        "select id, id > 0 as c from {s}.messages",
    ),
    "an operator": (
        "select 1 | id + 1 as c from {s}.messages",
        "select (1 | id) + 1 as c from {s}.messages",
    ),
    "a table": (
        "select m.id from {s}.messages m where m.parent is null",
        "select m.id from {s}.messages m where m.parent is not null",
    ),
}


def _query(world: World, sql: str) -> Query:
    model = world.model(sql)
    return read_query(world.session, model, world.invocation(9), model.sql, None)


@pytest.mark.parametrize("sql", ALIKE)
def test_spark_plans_what_was_read_as_what_was_written(world: World, sql: str) -> None:
    query = _query(world, sql)
    refuse_read_apart(world.session, world.model(sql), query)
    assert world.session.texts[-1].startswith("EXPLAIN"), "no data was asked for"


@pytest.mark.parametrize("name", APART)
def test_another_text_is_noticed_by_its_rows(world: World, name: str) -> None:
    written, read = APART[name]
    model = world.model(written)
    query = replace(_query(world, read), sql=model.sql)
    with pytest.raises(Refusal, match=r"Spark gives \d+ rows to the query as it was written"):
        refuse_read_apart(world.session, model, query)


def test_what_is_planned_otherwise_and_gives_the_same_rows(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    sql = "select id from {s}.messages m left join {s}.messages r using (id)"
    query = _query(world, sql)
    refuse_read_apart(world.session, world.model(sql), query)
    assert "EXCEPT ALL" in world.session.texts[-1]
    monkeypatch.setattr(reading_apart, "MOST_BYTES", 0)
    asked = len(world.session.texts)
    refuse_read_apart(world.session, world.model(sql), query)
    assert len(world.session.texts) == asked + 1, "larger tables are planned only"


def test_what_spark_cannot_compare_is_let_pass(world: World) -> None:
    sql = "select map(id, author) as pairs from {s}.messages m join {s}.messages r using (id)"
    sql = sql.replace("author", "m.author")
    refuse_read_apart(world.session, world.model(sql), _query(world, sql))


def test_of_a_long_list_spark_shows_the_beginning(world: World) -> None:
    many = ", ".join(f"id + {n} as c{n}" for n in range(40))
    written = f"select {many} from {world.schema}.messages"
    assert not planned_alike(world.session, written, written)


def test_a_run_asks_once_for_each_new_text(world: World) -> None:
    model = world.model(UNANSWERED)
    for t in (9, 12):
        world.run(model, t)
        world.add((10 + t, "c", None, t + 0.5))
    assert sum("EXPLAIN EXTENDED" in text for text in world.session.texts) == 1


def test_a_query_with_qualify_runs_though_spark_lacks_it(world: World) -> None:
    sql = "select m.*, row_number() over (partition by author order by ts desc) as n"
    sql += " from {s}.messages m qualify n = 1"
    model = world.model(sql)
    assert world.session.rows(f"DESCRIBE QUERY {without_qualify(model.sql)}")
    world.run(model, 9)
    assert world.answers() == [(1, 0.0), (2, 1.0), (3, 5.0)]
