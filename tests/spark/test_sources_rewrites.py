"""Sources that were rewritten: compared as bags; each way of rewriting has a test."""

from __future__ import annotations

from typing import Any

import pytest
from tests.spark.source_world import COLUMNS, World, at, bag, late, row

from tapestry.errors import SourceRewritten
from tapestry.runs.kinds.continuous.config import ContinuousConfig

DELETES_OK = ContinuousConfig(on_source_rewrite="deletes_ok")
REFRESH = ContinuousConfig(on_source_rewrite="refresh")
VECTORS = "'delta.enableDeletionVectors' = 'true'"
KEPT = "SELECT * FROM {source}"


@pytest.fixture
def world(session: Any, schema: str) -> World:
    return World(session, schema)


def _filled(world: World, **options: str) -> World:
    """Four rows in two commits, two of them equal, read by a run at 20."""
    world.create(**options)
    world.insert(row(1, 10), row(2, 11))
    world.insert(row(3, 12), row(3, 12))
    world.run(20)
    return world


def _replace(values: str) -> str:
    return (
        "CREATE OR REPLACE TABLE {source} USING delta AS SELECT CAST(id AS INT) AS id, ts, body"
        f" FROM VALUES {values} AS v(id, ts, body)"
    )


MERGE = (
    f"MERGE INTO {{source}} t USING (SELECT * FROM VALUES {row(2, 25)}, {row(9, 26)} AS"
    " v(id, ts, body)) s ON t.id = s.id"
    " WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
)
TWO, THREES = (2, "x", 11), [(3, "x", 12)] * 2

REWRITES = {
    "delete": ("DELETE FROM {source} WHERE id = 1", "DELETE", [TWO, *THREES]),
    "delete one of two equal rows": (
        f"INSERT OVERWRITE {{source}} VALUES {row(1, 10)}, {row(2, 11)}, {row(3, 12)}",
        "WRITE",
        [(1, "x", 10), TWO, (3, "x", 12)],
    ),
    "update": (
        "UPDATE {source} SET body = 'y' WHERE id = 1",
        "UPDATE",
        [(1, "y", late(20)), TWO, *THREES],
    ),
    "merge": (MERGE, "MERGE", [(1, "x", 10), (2, "x", 25), (9, "x", 26), *THREES]),
    "overwrite": (
        f"INSERT OVERWRITE {{source}} VALUES {row(2, 11)}, {row(7, 25)}",
        "WRITE",
        [TWO, (7, "x", 25)],
    ),
    "truncate": ("TRUNCATE TABLE {source}", "TRUNCATE", []),
    "restore": ("RESTORE TABLE {source} TO VERSION AS OF 1", "RESTORE", [(1, "x", 10), TWO]),
    "create or replace": (
        _replace(row(2, 11)),
        "CREATE OR REPLACE TABLE AS SELECT",
        [TWO],
    ),
}


VECTORED = [(name, VECTORS) for name in ("delete", "update", "merge")]


@pytest.mark.parametrize(("name", "properties"), [*((name, "") for name in REWRITES), *VECTORED])
def test_vanished_rows_fail_or_end(world: World, name: str, properties: str) -> None:
    statement, operation, left = REWRITES[name]
    _filled(world, properties=properties)
    world.sql(statement)
    with pytest.raises(
        SourceRewritten, match=rf"version 3 \({operation}[\s\S]*on_source_rewrite"
    ) as e:
        world.examine()
    assert len(str(e.value).splitlines()) <= 5
    examination = world.run(30, DELETES_OK)
    assert world.arrivals(examination) == bag(*left)
    assert examination.rows.vanished


def test_refresh_asks_to_build_again(world: World) -> None:
    _filled(world)
    world.sql("DELETE FROM {source} WHERE id = 1")
    examination = world.examine(REFRESH)
    assert examination.refresh
    assert not examination.before
    assert not examination.scan.late


def test_a_partition_overwritten(world: World) -> None:
    _filled(world, more="PARTITIONED BY (id)")
    world.sql(f"INSERT INTO {{source}} REPLACE WHERE id = 3 VALUES {row(3, 12)}, {row(3, 25)}")
    with pytest.raises(SourceRewritten, match="lost or changed 1 row "):
        world.examine()
    examination = world.run(30, DELETES_OK)
    assert world.arrivals(examination) == bag((1, "x", 10), TWO, (3, "x", 12), (3, "x", 25))


@pytest.mark.parametrize(
    "statement",
    [
        "OPTIMIZE {source}",
        "OPTIMIZE {source} ZORDER BY (id)",
        "REORG TABLE {source} APPLY (PURGE)",
        "VACUUM {source}",
        "ALTER TABLE {source} SET TBLPROPERTIES ('a' = 'b')",
        "ALTER TABLE {source} ADD COLUMN extra STRING",
        "INSERT OVERWRITE {source} SELECT * FROM {source}",
        "MERGE INTO {source} t USING {source} s ON false AND t.id = s.id WHEN MATCHED THEN DELETE",
    ],
)
def test_what_changes_no_rows_passes(world: World, statement: str) -> None:
    _filled(world)
    before = world.arrivals(world.examine())
    world.sql(statement)
    examination = world.examine()
    assert (examination.rows.late, examination.rows.vanished, examination.before) == (0, 0, ())
    assert world.arrivals(examination) == before


@pytest.mark.parametrize("way", ["overwrite", "create or replace", "truncate"])
def test_a_seed_built_again_counts_as_appended(world: World, way: str) -> None:
    _filled(world)
    rows = ", ".join((row(3, 12), row(1, 10), row(2, 11), row(3, 12), row(5, 15), row(6, 25)))
    if way == "truncate":
        world.sql("TRUNCATE TABLE {source}")
        world.insert(rows)
    else:
        world.sql(
            f"INSERT OVERWRITE {{source}} VALUES {rows}" if way == "overwrite" else _replace(rows)
        )
    examination = world.run(30)
    assert examination.rows.late == 1
    assert world.arrivals(examination) == bag(
        (1, "x", 10), TWO, *THREES, (5, "x", late(20)), (6, "x", 25)
    )


def test_dropped_and_made_again(world: World) -> None:
    _filled(world)
    world.create()
    for _ in range(3):
        world.insert(row(1, 10), row(2, 11), row(3, 12), row(3, 12))
    with pytest.raises(SourceRewritten, match=r"dropped and made again[\s\S]*refresh"):
        world.examine()
    with pytest.raises(SourceRewritten):
        world.examine(DELETES_OK)
    assert world.examine(REFRESH).refresh


def test_of_equal_copies_the_last_to_arrive_ends_first(world: World) -> None:
    _filled(world)
    world.insert(row(3, 12), row(3, 12))
    world.run(30)
    values = ", ".join((row(1, 10), row(2, 11), row(3, 12), row(3, 12), row(3, 12)))
    world.sql(f"INSERT OVERWRITE {{source}} VALUES {values}")
    third = world.run(40, DELETES_OK)
    assert world.arrivals(third) == bag((1, "x", 10), TWO, *THREES, (3, "x", late(20)))
    world.sql("DELETE FROM {source} WHERE id = 3")
    assert world.arrivals(world.run(50, DELETES_OK)) == bag((1, "x", 10), TWO)
    world.insert(row(3, 12))
    assert world.arrivals(world.run(60)) == bag((1, "x", 10), TWO, (3, "x", late(50)))


def test_new_columns_and_wider_types_keep_late_rows(world: World) -> None:
    _filled(world, properties="'delta.enableTypeWidening' = 'true'")
    world.insert(row(5, 15))
    world.run(30)
    world.sql("ALTER TABLE {source} ADD COLUMN extra STRING")
    assert world.arrivals(world.examine())[(5, "x", late(20))] == 1
    world.sql("ALTER TABLE {source} ALTER COLUMN id TYPE BIGINT")
    world.sql(f"INSERT INTO {{source}} VALUES (5000000000, {row(0, 25)[4:-1]}, 'new')")
    found = world.arrivals(world.run(40), ("id", "extra"))
    assert found[(5, None, late(20))] == 1
    assert found[(5_000_000_000, "new", late(30))] == 1


def test_a_dropped_column(world: World) -> None:
    _filled(world, properties="'delta.columnMapping.mode' = 'name'")
    world.sql("ALTER TABLE {source} DROP COLUMN body")
    assert world.arrivals(world.run(30), ("id",))[(3, 12)] == 2
    world.insert(f"(5, {row(0, 15)[4:-6]})")
    world.run(40)
    world.sql("ALTER TABLE {source} DROP COLUMN id")
    with pytest.raises(SourceRewritten, match="no longer has the column id"):
        world.examine()
    assert world.examine(REFRESH).refresh


class TestStatic:
    """A look-up table: a change of its rows rewrites the past, whatever the change."""

    @pytest.fixture
    def world(self, session: Any, schema: str) -> World:
        world = World(session, schema, columns=COLUMNS, arrival=None)
        return _filled(world)

    def test_the_same_rows_again_pass(self, world: World) -> None:
        world.sql("INSERT OVERWRITE {source} SELECT * FROM {source}")
        assert world.examine().scan.arrival is None
        world.sql("OPTIMIZE {source}")
        assert not world.run(30).refresh

    def test_new_rows_count_as_a_rewrite(self, world: World) -> None:
        world.insert(row(9, 50))
        for rules in (ContinuousConfig(), DELETES_OK):
            with pytest.raises(SourceRewritten, match=r"is static.*1 new and 0 vanished"):
                world.examine(rules)
        assert world.examine(REFRESH).refresh

    def test_deletes_may_be_allowed(self, world: World) -> None:
        world.sql("DELETE FROM {source} WHERE id = 3")
        with pytest.raises(SourceRewritten, match="0 new and 2 vanished"):
            world.examine()
        assert world.examine(DELETES_OK).rows.vanished == 2

    def test_dropped_and_made_again(self, world: World) -> None:
        world.create()
        world.insert(row(3, 12), row(1, 10), row(2, 11), row(3, 12))
        with pytest.raises(SourceRewritten, match="dropped and made again"):
            world.examine()
        assert world.tau == at(20)
