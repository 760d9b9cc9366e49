"""What stands behind a name; what cannot be a source is refused with the way out."""

from __future__ import annotations

from typing import Any

import pytest
from tests.spark.source_world import World, row

from tapestry.errors import Refusal
from tapestry.runs.sources.describe import DeltaSource, arrival_column, describe
from tapestry.runs.sources.pins import Pin, Pinned, Pins
from tapestry.sql.catalog import Column, View


def test_a_delta_table(session: Any, schema: str) -> None:
    world = World(session, schema)
    session.texts.clear()
    table = describe(session, world.source)
    assert isinstance(table, DeltaSource)
    assert table.columns == (
        Column("id", "int"),
        Column("ts", "timestamp"),
        Column("body", "string"),
    )
    assert len(session.texts) == 2
    assert not table.row_tracking
    world.create(properties="'delta.enableRowTracking' = 'true'", more="PARTITIONED BY (body)")
    again = world.table()
    assert again.row_tracking
    assert again.partitioned_by == ("body",)
    assert again.table_id != table.table_id


def test_a_view_gives_its_text_and_namespace(session: Any, schema: str) -> None:
    world = World(session, schema)
    session.run(f"CREATE VIEW {schema}.v AS SELECT id, ts FROM {world.source} WHERE id > 1")
    text = f"SELECT id, ts FROM {world.source} WHERE id > 1"
    assert describe(session, f"{schema}.v") == View(f"{schema}.v", text, schema_of_session(session))


def test_a_view_that_names_its_columns(session: Any, schema: str) -> None:
    world = World(session, schema)
    session.run(f"CREATE VIEW {schema}.v (a, b) AS SELECT id, ts FROM {world.source}")
    view = describe(session, f"{schema}.v")
    assert isinstance(view, View)
    assert view.sql == (f"SELECT `id` AS `a`, `ts` AS `b` FROM (SELECT id, ts FROM {world.source})")


def test_a_star_of_a_view_is_that_of_its_day(session: Any, schema: str) -> None:
    world = World(session, schema)
    session.run(f"CREATE VIEW {schema}.v AS SELECT * FROM {world.source} WHERE id > 1")
    session.run(f"ALTER TABLE {world.source} ADD COLUMNS (more INT)")
    view = describe(session, f"{schema}.v")
    assert isinstance(view, View)
    listed = "`id` AS `id`, `ts` AS `ts`, `body` AS `body`"
    assert view.sql == f"SELECT {listed} FROM (SELECT * FROM {world.source} WHERE id > 1)"


def schema_of_session(session: Any) -> str:
    return str(session.rows("SELECT current_schema()")[0][0])


@pytest.mark.parametrize(
    ("create", "name", "way_out"),
    [
        ("CREATE TABLE {s}.p (ts TIMESTAMP) USING parquet", "{s}.p", "convert to delta"),
        ("CREATE TABLE {s}.c (ts TIMESTAMP) USING csv", "{s}.c", "materialize it as a Delta table"),
        (
            "CREATE OR REPLACE TEMP VIEW passing AS SELECT 1 AS a",
            "passing",
            "make it a Delta table",
        ),
        ("SELECT 1", "{s}.nothing", "load or build it first"),
        ("CREATE TABLE {s}.r (_arrival INT) USING delta", "{s}.r", "rename the column"),
    ],
)
def test_others_are_refused(
    session: Any, schema: str, create: str, name: str, way_out: str
) -> None:
    session.run(create.format(s=schema))
    with pytest.raises(Refusal, match=way_out):
        describe(session, name.format(s=schema))


def test_arrival_columns() -> None:
    names = ("timestamp", "timestamp_ntz", "date", "string", "bigint")
    table = DeltaSource("db.t", tuple(Column(f"a_{name}", name) for name in names), "", "")
    for name in names[:3]:
        assert arrival_column(table, f"A_{name.upper()}").type == name
    for name in names[3:]:
        with pytest.raises(Refusal, match=r"TIMESTAMP[\s\S]*timestamp column"):
            arrival_column(table, f"a_{name}")
    with pytest.raises(Refusal, match="a_timestamp"):
        arrival_column(table, "a_timestmp")


def test_one_pin_for_the_whole_invocation(session: Any, schema: str) -> None:
    world = World(session, schema)
    pins = Pins()
    first = pins.of(session, world.source)
    assert isinstance(first, Pinned)
    assert first.pin == Pin(world.table().table_id, 0)
    world.insert(row(1, 10))
    assert pins.of(session, world.source) is first
    second = Pins().of(session, world.source)
    assert isinstance(second, Pinned)
    assert second.pin.version == 1
