"""The bookkeeping tables: made by whoever comes first, with few checkpoints."""

from __future__ import annotations

from typing import Any

from tapestry.runs.own_tables import CHECKPOINTS, create_own


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
