"""The bookkeeping tables: made by whoever comes first, with few checkpoints."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.spark.run_world import ALL, World, delete_folder

from tapestry.runs.engine.own_tables import (
    CHECKPOINTS,
    INDEXED,
    OwnTable,
    append_own,
    create_own,
    lost_own,
)
from tapestry.runs.kinds.registry import execute, prepare
from tapestry.runs.protocol.log import write_checks, write_log


def test_a_table_is_made_once_and_seldom_writes_a_checkpoint(session: Any, schema: str) -> None:
    name = f"{schema}.own"
    for comment in ("the first", "another"):
        create_own(session, name, {"n": "BIGINT"}, comment)
    asked = f"SHOW TBLPROPERTIES {name} ('delta.checkpointInterval')"
    assert session.rows(asked) == [("delta.checkpointInterval", str(CHECKPOINTS))]
    told = session.spark.sql(f"DESCRIBE DETAIL {name}").first()
    assert told["description"] == "the first"
    for n in range(11):  # Delta's own interval is ten
        session.run(f"INSERT INTO {name} VALUES ({n})")
    files = session.rows(f"SELECT count(*) FROM {name}")
    assert files == [(11,)]
    log = session.spark._jvm.java.io.File(told["location"].removeprefix("file:") + "/_delta_log")
    assert not [file for file in log.list() if "checkpoint" in file]


def test_few_columns_of_a_bookkeeping_table_have_statistics(session: Any, schema: str) -> None:
    """An aggregate over each is planned at each commit; whose a row is finds its file."""
    names = [f"c{n}" for n in range(INDEXED + 3)]
    own = OwnTable(f"{schema}.own", dict.fromkeys(names, "BIGINT"), "ours")
    append_own(session, own, [dict.fromkeys(names, "1")])
    place = session.spark.sql(f"DESCRIBE DETAIL {own.name}").first()["location"]
    (log,) = (
        session.spark.read.json(f"{place}/_delta_log/*1.json").where("add is not null").collect()
    )
    assert sorted(json.loads(log["add"]["stats"])["minValues"]) == names[:INDEXED]
    assert json.loads(log["add"]["stats"])["numRecords"] == 1


def test_a_table_whose_folder_was_deleted_is_made_again(session: Any, schema: str) -> None:
    name, columns = f"{schema}.own", {"n": "BIGINT"}
    create_own(session, name, columns, "the first")
    delete_folder(session, name)
    with pytest.raises(Exception, match="UNRESOLVED_COLUMN") as error:
        session.run(f"INSERT INTO {name} (n) VALUES (1)")
    assert lost_own(session, name, error.value)
    create_own(session, name, columns, "another")
    assert not lost_own(session, name, error.value)
    session.run(f"INSERT INTO {name} (n) VALUES (1)")
    assert session.rows(f"SELECT * FROM {name}") == [(1,)]


def test_logs_whose_folders_were_deleted_are_begun_again(session: Any, schema: str) -> None:
    """Found by hand: each run warned that they could not be written."""
    world = World(session, schema).create()
    runs, checks = f"{world.schema}.tapestry_runs", f"{world.schema}.tapestry_checks"
    for n, t in ((1, 3), (2, 10)):
        invocation = world.invocation(t)
        model = world.model(ALL, expectations=[{"expect": "id <> 2"}])
        execute(world.session, prepare(world.session, model, invocation), invocation)
        for table, write in ((runs, write_log), (checks, write_checks)):
            write(world.session, table, "i", invocation.log)
            write(world.session, table, "i", invocation.log)
            assert world.session.rows(f"select n, count(*) from {table} group by n") == [(n, 2)]
            delete_folder(world.session, table)
