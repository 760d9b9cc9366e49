"""Sources with other columns under `select *`: each change, each rule, as one key decides it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.spark.run_world import World, ids

from tapestry.errors import QueryChanged

STAR = "select * from {s}.messages m where now() >= m.ts"
SHAPES = {
    "plain": STAR,
    "by an alias": "select m.* from {s}.messages m",
    "in a CTE": "with q as (select * from {s}.messages) select * from q",
    "in FROM": "select * from (select * from {s}.messages) q where now() >= q.ts",
    "distinct": "select distinct * from {s}.messages",
    "in two arms": (
        "select * from {s}.messages where author = 'a'"
        " union all select * from {s}.messages where author <> 'a'"
    ),
    "unanswered": (
        "select * from {s}.messages m where not exists"
        " (select * from {s}.messages r where r.parent = m.id)"
    ),
    "except one": "select * except (author) from {s}.messages",
}


def widen(world: World, columns: str = "w string", values: str = "'w'") -> None:
    """Columns more in the source, and a row that has them."""
    world.session.run(f"alter table {world.schema}.messages add columns ({columns})")
    world.session.run(
        f"insert into {world.schema}.messages values"
        f" (9, 'n', null, timestamp'2026-01-01 00:00:08', {values})"
    )


@pytest.mark.parametrize("shape", SHAPES)
def test_one_key_is_enough(world: World, shape: str) -> None:
    sql = SHAPES[shape]
    world.run(world.model(sql, verify="full"), 6)
    before = ids(world.answers())
    widen(world)
    with pytest.raises(QueryChanged, match=r"^new column w: a source of target has") as told:
        world.run(world.model(sql), 9)
    assert "append_new_columns" in told.value.hint
    wider = world.model(sql, on_schema_change="append_new_columns", verify="full")
    assert world.run(wider, 9).rows == 1
    assert sorted(row[:2] for row in world.answers(columns="id, coalesce(w, '')")) == [
        *((one, "") for one in before),
        (9, "w"),
    ]
    world.add_row("(10, 'n', null, timestamp'2026-01-01 00:00:10', 'v')")
    assert world.run(world.model(sql, verify="full"), 11).rows == 1  # the key is not needed twice


def test_columns_that_are_left_out_stay_so(world: World) -> None:
    """Found by reading: the next run wrote the column that the one before had left out."""
    left = world.model(STAR, on_schema_change="ignore", verify="full")
    world.run(world.model(STAR), 6)
    widen(world, "w string, xy int", "'w', 1")
    world.run(left, 9)
    world.add_row("(10, 'n', null, timestamp'2026-01-01 00:00:10', 'v', 2)")
    world.recall.__init__()  # type: ignore[misc]  # another process
    world.run(left, 11)
    assert ids(world.answers()) == [1, 2, 3, 9, 10]
    world.recall.__init__()  # type: ignore[misc]
    world.add_row("(11, 'n', null, timestamp'2026-01-01 00:00:12', 'v', 2)")
    with pytest.raises(QueryChanged, match="new columns w, xy"):
        world.run(world.model(STAR), 13)
    world.run(world.model(STAR, on_schema_change="append_new_columns"), 13)
    found = world.answers(columns="id, coalesce(w, ''), coalesce(xy, 0)")
    assert [row[:3] for row in found][-2:] == [(10, "", 0), (11, "v", 2)]


def test_rows_told_apart_by_their_values_lose_no_column(world: World) -> None:
    sql = SHAPES["distinct"]
    world.run(world.model(sql), 6)
    widen(world)
    with pytest.raises(QueryChanged, match="rows would come twice"):
        world.run(world.model(sql, on_schema_change="ignore"), 9)


@pytest.mark.parametrize("rule", ["fail", "append_new_columns"])
def test_a_column_renamed_and_one_dropped(world: World, rule: str) -> None:
    table = f"{world.schema}.messages"
    world.session.run(
        f"alter table {table} set tblproperties ('delta.columnMapping.mode' = 'name')"
    )
    world.run(world.model(STAR), 6)
    world.session.run(f"alter table {table} rename column author to writer")
    world.session.run(f"alter table {table} drop column parent")
    world.add_row("(9, 'n', timestamp'2026-01-01 00:00:08')")
    changed = world.model(STAR, on_schema_change=rule, verify="full")
    if rule == "fail":
        with pytest.raises(QueryChanged, match=r"^new column writer; author, parent no longer"):
            world.run(changed, 9)
        return
    world.run(changed, 9)
    found = world.answers(columns="id, coalesce(author, ''), coalesce(writer, '')")
    assert [row[:3] for row in found] == [(1, "a", ""), (2, "b", ""), (3, "a", ""), (9, "", "n")]


def test_another_order_is_no_change(world: World) -> None:
    world.run(world.model(STAR), 6)
    world.session.run(f"alter table {world.schema}.messages alter column ts first")
    world.add_row("(timestamp'2026-01-01 00:00:08', 9, 'n', null)")
    assert world.run(world.model(STAR, verify="full"), 9).rows == 1
    assert ids(world.answers()) == [1, 2, 3, 9]


def test_a_wider_type_is_asked_for_by_its_name(world: World) -> None:
    table = f"{world.schema}.messages"
    world.session.run(
        f"alter table {table} set tblproperties ('delta.enableTypeWidening' = 'true')"
    )
    world.run(world.model(STAR), 6)
    world.session.run(f"alter table {table} alter column parent type bigint")
    world.add_row("(9, 'n', 5000000000, timestamp'2026-01-01 00:00:08')")
    for rule in ("fail", "append_new_columns"):
        with pytest.raises(QueryChanged, match="parent is bigint in the query now, but int"):
            world.run(world.model(STAR, on_schema_change=rule), 9)


def test_through_a_view(world: World) -> None:
    """A view that says * has the columns of when it was made; made anew, those of today."""
    made = f"create or replace view {world.schema}.v as select * from {world.schema}.messages"
    world.session.run(made)
    sql = "select * from {s}.v"
    world.run(world.model(sql), 6)
    widen(world)
    assert world.run(world.model(sql, verify="full"), 9).rows == 1
    world.session.run(made)
    with pytest.raises(QueryChanged, match="new column w"):
        world.run(world.model(sql), 10)
    world.add_row("(10, 'n', null, timestamp'2026-01-01 00:00:10', 'v')")
    world.run(world.model(sql, on_schema_change="append_new_columns", verify="full"), 11)
    found = world.answers(columns="id, coalesce(w, '')")
    assert [row[:2] for row in found] == [(1, ""), (2, ""), (3, ""), (9, ""), (10, "v")]


def test_a_condition_is_no_matter_of_columns(world: World) -> None:
    """The words that differ are told, and which key is asked."""
    world.run(world.model(STAR), 6)
    widen(world)
    wider = world.model(STAR + " and m.w is not null", on_schema_change="append_new_columns")
    with pytest.raises(QueryChanged) as told:
        world.run(wider, 9)
    assert told.value.reason.endswith("grown with: + m.w AS w + AND NOT m.w IS NULL")
    assert "on_query_change" in told.value.hint
    assert "on_schema_change" in told.value.hint


@pytest.mark.parametrize("rule", ["continue", "refresh"])
def test_with_the_other_key(world: World, rule: str) -> None:
    world.run(world.model(STAR), 6)
    widen(world)
    changed: Any = world.model(STAR, on_query_change=rule, verify="full")
    if rule == "continue":
        with pytest.raises(QueryChanged, match="new column w"):
            world.run(changed, 9)
        return
    world.run(changed, 9)
    found = world.answers(columns="id, coalesce(w, '')")
    assert [row[:2] for row in found] == [(1, ""), (2, ""), (3, ""), (9, "w")]
