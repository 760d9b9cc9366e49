"""What Delta's own classes tell of a table is what DESCRIBE DETAIL tells."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from dbt.adapters.tapestry.delta_logs import DeltaLogs
from tapestry.instants import from_micros
from tapestry.runs.engine.capabilities import Capabilities
from tapestry.runs.engine.glance import Glance
from tapestry.runs.tables.target import look


@pytest.fixture
def logs(spark: SparkSession) -> DeltaLogs:
    return DeltaLogs(spark.newSession())


def described(session: Any, name: str) -> Glance:
    """By DESCRIBE DETAIL; its time, naive here, as the adapter gives it: in UTC."""
    found = look(session, name)
    assert found is not None
    ((micros,),) = session.rows(
        f"SELECT unix_micros(TIMESTAMP '{found.last_commit}')"  # the session is in UTC
    )
    return replace(found, last_commit=str(from_micros(micros)))


def test_a_table_is_as_describe_detail_shows_it(session: Any, schema: str, logs: DeltaLogs) -> None:
    name = f"{schema}.target"
    session.run(
        f"CREATE TABLE {name} USING delta TBLPROPERTIES (tapestry.generation = 'g1')"
        " AS SELECT id FROM range(10)"
    )
    assert logs.newest(name) == described(session, name)
    session.run(f"INSERT INTO {name} VALUES (11), (12)")
    session.run(f"DELETE FROM {name} WHERE id = 3")
    after = logs.newest(name)
    assert after == described(session, name)
    assert after is not None
    assert after.generation == "g1"
    assert after.files > 0
    assert logs.newest(f"`spark_catalog`.`{schema}`.`target`") == replace(
        after, name=f"`spark_catalog`.`{schema}`.`target`"
    )


def test_another_process_committed(
    session: Any, spark: SparkSession, schema: str, logs: DeltaLogs
) -> None:
    name = f"{schema}.target"
    session.run(f"CREATE TABLE {name} (id INT) USING delta")
    before = logs.newest(name)
    place = session.rows(f"DESCRIBE DETAIL {name}")[0][4]
    folder = Path(place.removeprefix("file:")) / "_delta_log"
    (folder / f"{1:020d}.json").write_text(
        '{"commitInfo":{"timestamp":4102444800000,"operation":"WRITE","operationParameters":{}}}\n'
    )
    after = logs.newest(name)
    assert after != before
    assert after == described(session, name)


def test_a_table_that_was_made_again_is_another(session: Any, schema: str, logs: DeltaLogs) -> None:
    name = f"{schema}.target"
    session.run(f"CREATE TABLE {name} (id INT) USING delta")
    before = logs.newest(name)
    session.run(f"DROP TABLE {name}")
    assert logs.newest(name) is None
    session.run(f"CREATE TABLE {name} (id INT) USING delta")
    after = logs.newest(name)
    assert before is not None
    assert after is not None
    assert after.table_id != before.table_id
    assert after.generation is None


def test_what_is_not_a_delta_table_is_left_to_describe_detail(
    session: Any, schema: str, logs: DeltaLogs
) -> None:
    session.run(f"CREATE TABLE {schema}.plain (id INT) USING parquet")
    session.run(f"CREATE TABLE {schema}.kept (id INT) USING delta")
    session.run(f"CREATE VIEW {schema}.seen AS SELECT * FROM {schema}.kept")
    names = (f"{schema}.plain", f"{schema}.seen", f"{schema}.nothing", f"elsewhere.{schema}.kept")
    assert [logs.newest(name) for name in (*names, "kept")] == [None] * 5


def test_a_session_that_cannot_be_asked_is_asked_in_sql(session: Any, schema: str) -> None:
    name = f"{schema}.target"
    session.run(f"CREATE TABLE {name} (id INT) USING delta")
    asked: list[str] = []
    session.can = Capabilities(glance=asked.append)  # knows nothing
    found = look(session, name)
    assert asked == [name]
    assert found is not None
    assert found.name == name
