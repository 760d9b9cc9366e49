"""Scans: what they cost (file statistics prune) and which types they take."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tests.spark.source_world import World, at, bag, late, literal, row

import tapestry.runs.kinds.continuous.late.late as late_module
import tapestry.runs.kinds.continuous.late.side as side_module
from tapestry.runs.sources.contents import canonical, hash_decides
from tapestry.sql.catalog import Column


@pytest.fixture
def world(session: Any, schema: str) -> World:
    return World(session, schema)


def files_read(world: World, sql: str) -> list[int]:
    """How many files each scan of the source, in this order, picks by its statistics."""
    frame = world.session.spark.sql(sql)
    frame.collect()
    found: list[int] = []

    def walk(node: Any) -> None:
        children = node.children()
        of_source = children.size() == 0 and ".source" in node.toString()
        if of_source and node.metrics().contains("numFiles"):
            found.append(node.metrics().apply("numFiles").value())
        for i in range(children.size()):
            walk(children.apply(i))

    walk(frame._jdf.queryExecution().executedPlan())
    return found


def _daily(world: World) -> None:
    """Eight files, one commit each, ten minutes apart."""
    for i in range(8):
        world.insert(row(i, i * 10))


@pytest.mark.parametrize("tracking", ["", "'delta.enableRowTracking' = 'true'"])
def test_predicates_on_the_arrival_reach_the_files(world: World, tracking: str) -> None:
    world.create(properties=tracking)
    _daily(world)
    scan = world.run(75).scan
    ids = f"SELECT id, {scan.row_id} FROM {scan.relation}"
    assert files_read(world, f"{ids} WHERE {scan.arrival} > {literal(at(55))}") == [2]
    whole = f"SELECT *, {scan.arrival} AS a, {scan.row_id} AS r FROM {scan.relation}"
    assert files_read(world, f"SELECT * FROM ({whole}) WHERE a > {literal(at(55))}") == [2]


def test_with_late_rows_predicates_still_reach_the_files(world: World) -> None:
    _daily(world)
    world.run(75)
    world.insert(row(100, 5), row(101, 80))
    scan = world.run(85).scan
    narrow = f"SELECT * FROM {scan.relation} WHERE _arrival > {literal(at(72))}"
    assert files_read(world, narrow) == [1]
    found = world.session.rows(f"SELECT id FROM ({narrow}) ORDER BY id")
    assert found == [(100,), (101,)]


def test_late_rows_are_sought_in_few_files(world: World) -> None:
    _daily(world)
    world.run(75)
    world.insert(row(100, 71), row(101, 80))
    world.session.texts.clear()
    assert world.examine().rows.late == 1
    counting = next(text for text in world.session.texts if "_metadata.file_name IN" in text)
    assert files_read(world, counting) == [1]


@pytest.mark.parametrize("kind", ["DATE", "TIMESTAMP_NTZ"])
@pytest.mark.parametrize("partitioned", ["", "PARTITIONED BY (ts)"])
def test_other_types_of_arrival(world: World, kind: str, partitioned: str) -> None:
    world.create(f"id INT, ts {kind}", more=partitioned)
    for day in (1, 2, 3, 4):
        world.sql(f"INSERT INTO {{source}} VALUES ({day}, CAST('2024-01-0{day}' AS {kind}))")
    world.run(60 * 24 * 2)  # the end of the second day
    world.sql(f"INSERT INTO {{source}} VALUES (5, CAST('2024-01-03' AS {kind})), (6, NULL)")
    world.sql(f"INSERT INTO {{source}} VALUES (7, CAST('2024-01-05' AS {kind}))")
    examination = world.run(60 * 24 * 5)
    assert (examination.rows.late, examination.rows.null) == (1, 1)
    days = [(i + 1, 1440.0 * i) for i in range(4)]
    found = world.arrivals(examination, ("id",))
    assert found == bag(*days, (5, late(2880)), (6, None), (7, 5760))
    scan = world.examine().scan
    recent = f"SELECT id FROM {scan.relation} WHERE {scan.arrival} > {literal(at(1440 * 3.5))}"
    assert files_read(world, recent) == [1]


def test_days_count_in_the_session_zone(world: World) -> None:
    spark = world.session.spark
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        world.create("id INT, ts DATE")
        world.sql("INSERT INTO {source} VALUES (1, DATE'2024-01-01')")
        world.run(15 * 60)  # 2024-01-02 00:00 in Tokyo
        world.sql("INSERT INTO {source} VALUES (2, DATE'2024-01-02'), (3, DATE'2024-01-03')")
        examination = world.run(39 * 60)
        assert examination.rows.late == 1
        found = world.arrivals(examination, ("id",))
        assert found == bag((1, -9 * 60), (2, late(15 * 60)), (3, 39 * 60))
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def test_columns_that_cannot_be_compared_as_they_are(world: World) -> None:
    world.create(
        "id INT, ts TIMESTAMP, m MAP<STRING, INT>, s STRUCT<a: INT, m: MAP<INT, STRING>>,"
        " v VARIANT, x ARRAY<DOUBLE>, b BINARY, mm MAP<INT, MAP<INT, INT>>, f DOUBLE"
    )
    values = (
        "map('a', 1, 'b', {b}), named_struct('a', 1, 'm', map(1, 'q')), parse_json('{{\"k\": 1}}'),"
        " array(double('nan'), -0.0D), X'00FF', map(1, map(2, 3)), double('nan')"
    )
    first, other = values.format(b=2), values.format(b=3)
    nothing = ", ".join(["NULL"] * 7)
    world.sql(
        f"INSERT INTO {{source}} VALUES (1, {literal(at(10))}, {first}),"
        f" (2, {literal(at(10))}, {nothing})"
    )
    world.run(20)
    world.sql(
        f"INSERT INTO {{source}} VALUES (1, {literal(at(10))}, {first}),"
        f" (1, {literal(at(10))}, {other}), (2, {literal(at(10))}, {nothing})"
    )
    examination = world.run(30)
    assert examination.rows.late == 3
    assert world.arrivals(examination, ("id", "m['b']")) == bag(
        (1, 2, 10), (1, 2, late(20)), (1, 3, late(20)), (2, None, 10), (2, None, late(20))
    )
    world.sql("INSERT OVERWRITE {source} SELECT * FROM {source}")
    assert world.arrivals(world.run(40), ("id", "m['b']")) == world.arrivals(
        examination, ("id", "m['b']")
    )


def test_rows_that_differ_in_the_place_of_a_null_have_ids_of_their_own(world: World) -> None:
    world.create("a STRING, b STRING, ts TIMESTAMP, l ARRAY<STRING>, s STRUCT<x: INT, y: INT>")
    scalars = ("'q', NULL", "NULL, 'q'", "'q', 'q'", "NULL, NULL")
    lists = ("array('r', NULL)", "array(NULL, 'r')", "array('r')", "NULL")
    structs = ("struct(1, NULL)", "struct(NULL, 1)", "NULL")
    rows = [f"({a}, {literal(at(1))}, {x}, {s})" for a in scalars for x in lists for s in structs]
    world.insert(*rows)
    scan = world.run(10).scan
    content = f"substring_index({scan.row_id}, '-', 2)"  # what follows numbers equal rows
    text = f"SELECT count(DISTINCT {scan.row_id}), count(DISTINCT {content}), count(*)"
    assert world.session.rows(f"{text} FROM {scan.relation}") == [(48, 48, 48)]


def test_hashes_are_trusted_only_where_they_decide() -> None:
    def decides(text: str) -> bool:
        return hash_decides([Column("c", text)])

    assert all(map(decides, ("int", "string", "decimal(10,2)", "timestamp_ntz", "varchar(3)")))
    others = ("array<int>", "struct<a:int>", "variant", "string collate UTF8_LCASE", "interval day")
    assert not any(map(decides, others))


@pytest.mark.parametrize("few", [0, 1_000])
def test_late_rows_few_and_many_are_told_from_the_others_alike(
    world: World, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (late_module, side_module):
        monkeypatch.setattr(module, "FEW", few)
    world.create("id INT, ts TIMESTAMP, body STRING, f DOUBLE")
    given = "(1, {ts}, NULL, -0.0D), (NULL, {ts}, 'x', double('nan')), (2, {ts}, 'x', 0.0D)"
    world.insert(given.format(ts=literal(at(10))))
    world.run(20)
    world.insert(given.format(ts=literal(at(10))).replace("-0.0D", "0.0D"))
    world.run(30)
    world.insert(f"(3, {literal(at(25))}, 'y', 1.5D)", f"(2, {literal(at(10))}, 'x', 0.0D)")
    examination = world.run(40)
    assert world.arrivals(examination, ("id", "body")) == bag(
        *[(1, None, 10), (1, None, late(20)), (None, "x", 10), (None, "x", late(20))],
        *[(2, "x", 10), (2, "x", late(20)), (2, "x", late(30)), (3, "y", late(30))],
    )
    assert ("NOT EXISTS" in examination.scan.relation) is (few == 0)
    again = world.examine()  # nothing happened since: all that is late stands in the table
    assert world.arrivals(again, ("id", "body")) == world.arrivals(examination, ("id", "body"))
    assert ("NOT EXISTS" in again.scan.relation) is (few == 0)


def test_canonical_forms_leave_comparable_types_alone() -> None:
    for text in ("int", "array<double>", "struct<a:int,b:array<string>>", "decimal(10,2)"):
        assert canonical("c", text) == "c"
    nested = canonical("c", "struct<a:int,m:map<string,array<map<int,variant>>>>")
    assert re.search(r"transform\(map_entries\(c\.`m`\), e0 -> .*to_json", nested)


@pytest.mark.parametrize("properties", ["", "'delta.enableRowTracking' = 'true'"])
def test_row_ids_stay_unique_under_deletion_vectors(world: World, properties: str) -> None:
    vectors = "'delta.enableDeletionVectors' = 'true'"
    world.create(properties=", ".join(filter(None, (properties, vectors))))
    rows = ", ".join(row(i % 3, i % 2) for i in range(40))
    world.insert(rows)
    world.sql("DELETE FROM {source} WHERE id = 2")
    world.insert(rows)
    examination = world.run(10)
    assert sum(world.arrivals(examination).values()) == 67
    scan = examination.scan
    text = f"SELECT {scan.row_id} FROM {scan.relation}"
    assert sorted(world.session.rows(text)) == sorted(world.session.rows(text))


def test_the_side_table_is_small_and_typed(world: World) -> None:
    world.insert(row(1, 10))
    world.run(20)
    world.insert(row(2, 15))
    world.run(30)
    name = next(
        f"{world.target.split('.')[0]}.{found[1]}"
        for found in world.session.rows(f"SHOW TABLES IN {world.target.split('.')[0]}")
        if "__late_" in found[1]
    )
    columns = {r[0]: r[1] for r in world.session.rows(f"DESCRIBE TABLE {name}")}
    assert (columns["id"], columns["ts"], columns["_arrival"]) == ("int", "timestamp", "timestamp")
    assert world.session.rows(f"SELECT id, _late.n, _late.generation FROM {name}") == [(2, 2, "g1")]
