"""What Delta's own classes tell of a table is what DESCRIBE DETAIL tells."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.spark.run_world import ALL, World, at

from dbt.adapters.tapestry.delta_logs import DeltaLogs
from dbt.adapters.tapestry.embedded import settings_of
from tapestry.instants import from_micros
from tapestry.quoting import string
from tapestry.runs.context.clock import Clock
from tapestry.runs.context.invocation import Invocation, WarmPins
from tapestry.runs.context.recall import Recall
from tapestry.runs.engine.glance import Glance
from tapestry.runs.engine.own_tables import exists
from tapestry.runs.engine.session import Capabilities
from tapestry.runs.kinds.registry import execute, prepare
from tapestry.runs.sources.pins import Pins
from tapestry.runs.tables.target import look, metadata, newest_commits

pytestmark = pytest.mark.gate


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


@pytest.fixture
def commits_of(session: Any, logs: DeltaLogs) -> Any:
    """The commits of a table by Delta's log and by DESCRIBE HISTORY, as a run reads them."""

    class OfLog:
        can = Capabilities(commits=logs.commits)

    def both(name: str, count: int = 20) -> tuple[Any, Any]:
        return newest_commits(OfLog(), name, count), newest_commits(session, name, count)  # type: ignore[arg-type]

    return both


def test_a_name_is_known_as_statements_tell_it(session: Any, schema: str, logs: DeltaLogs) -> None:
    session.run(f"CREATE TABLE {schema}.target (id INT) USING delta")
    session.run(f"CREATE VIEW {schema}.seen AS SELECT 1 AS one")
    for name in ("target", "seen", "gone"):
        assert logs.knows(f"{schema}.{name}") is exists(session, f"{schema}.{name}")
    assert logs.knows(f"{schema}.tar*") is False
    assert logs.knows(f"elsewhere.{schema}.target") is None
    session.run(f"DROP TABLE {schema}.target")
    assert logs.knows(f"{schema}.target") is False


def test_settings_are_those_of_the_session_as_it_is_now(spark: SparkSession) -> None:
    ours, others, key = spark.newSession(), spark.newSession(), "spark.sql.session.timeZone"
    before = settings_of(ours)
    assert settings_of(others) == before == settings_of(ours)
    ours.conf.set(key, "Asia/Tokyo")
    assert settings_of(ours) == {**before, key: "Asia/Tokyo"}
    assert settings_of(others) == before
    settings_of(others).clear()
    assert settings_of(others) == before


def test_the_commits_are_those_of_the_history(session: Any, schema: str, commits_of: Any) -> None:
    name = f"{schema}.target"
    session.run(
        f"CREATE TABLE {name} USING delta TBLPROPERTIES (tapestry.generation = 'g\"1')"
        " AS SELECT id FROM range(10)"
    )
    noted = metadata("g1", 2, "r2", {"t": "2026-01-01", "attempt": "a", "failed": True})
    options = f"'txnAppId' = 'g1', 'txnVersion' = '2', 'userMetadata' = {string(noted)}"
    session.run(f"INSERT INTO {name} WITH ({options}) SELECT id FROM range(3)")
    session.run(f"DELETE FROM {name} WHERE id = 3")
    session.run(f"ALTER TABLE {name} SET TBLPROPERTIES (a = 'b')")
    session.run(f"OPTIMIZE {name}")
    for count in (1, 3, 20):
        logged, described_ = commits_of(name, count)
        assert logged == described_
        assert len(logged) == min(count, 5 if count == 20 else count)
    assert logged[-1].generation == 'g"1'
    assert (logged[-2].n, logged[-2].run_id, logged[-2].failed) == (2, "r2", True)


def test_commits_whose_files_are_gone_are_left_out(
    session: Any, schema: str, commits_of: Any
) -> None:
    name = f"{schema}.target"
    session.run(
        f"CREATE TABLE {name} USING delta TBLPROPERTIES ('delta.checkpointInterval' = '2')"
        " AS SELECT id FROM range(10)"
    )
    for _ in range(4):
        session.run(f"INSERT INTO {name} VALUES (1)")
    place = session.rows(f"DESCRIBE DETAIL {name}")[0][4]
    for version in (0, 1):
        for file in (Path(place.removeprefix("file:")) / "_delta_log").glob(f"*{version}.json"):
            file.unlink()
    logged, described_ = commits_of(name)
    assert logged == described_
    assert [commit.version for commit in logged] == [4, 3, 2]


def test_a_table_that_only_its_definition_is_remembered_of(
    session: Any, schema: str, logs: DeltaLogs
) -> None:
    name = f"{schema}.source"
    session.run(f"CREATE TABLE {name} (id INT, ts TIMESTAMP) USING delta")
    asked: list[str] = []

    class Counted:
        can = Capabilities(glance=logs.newest)

        def rows(self, sql: str) -> Any:
            asked.append(sql)
            return session.rows(sql)

    recall = Recall()

    def pinned() -> Any:
        asked.clear()
        return WarmPins(recall, "UTC").of(Counted(), name)  # type: ignore[arg-type]

    first = pinned()
    assert asked
    session.run(f"INSERT INTO {name} VALUES (1, current_timestamp())")
    grown = pinned()
    assert not asked
    assert grown.pin.version == 1
    assert grown.table.size > first.table.size
    assert grown.table.changed > first.table.changed
    assert (grown.table.columns, grown.pin.table_id) == (first.table.columns, first.pin.table_id)
    cold = Pins().of(session, name)
    assert replace(grown.table, changed=None) == replace(cold.table, changed=None)
    assert grown.pin == cold.pin
    session.run(f"ALTER TABLE {name} ADD COLUMN more STRING")
    assert pinned().table.columns[-1].name == "more"
    assert asked
    assert WarmPins(recall, "Europe/Berlin").of(Counted(), name)  # type: ignore[arg-type]
    session.run(f"CREATE OR REPLACE TABLE {name} (id INT, ts TIMESTAMP, more STRING) USING delta")
    again = pinned()
    assert asked
    assert again.pin.table_id != first.pin.table_id


def test_a_table_that_was_moved_is_described_again(
    session: Any, schema: str, logs: DeltaLogs, tmp_path: Path
) -> None:
    """It has the id, the commits and the files that it had, and its log is elsewhere."""
    name, recall = f"{schema}.source", Recall()

    class Logged:
        can = Capabilities(glance=logs.newest)
        rows = session.rows

    def pinned(over: Any) -> Any:
        return WarmPins(recall, "UTC").of(over, name)

    for over in (Logged(), SqlOnly(session)):
        before, after = (tmp_path / f"{type(over).__name__}_{i}" for i in (1, 2))
        session.run(f"CREATE TABLE {name} (id INT, ts TIMESTAMP) USING delta LOCATION '{before}'")
        assert Path(pinned(over).table.location.removeprefix("file:")) == before
        session.run(f"DROP TABLE {name}")
        before.rename(after)
        session.run(f"CREATE TABLE {name} USING delta LOCATION '{after}'")
        assert Path(pinned(over).table.location.removeprefix("file:")) == after
        session.run(f"INSERT INTO {name} VALUES (1, current_timestamp())")
        assert Path(pinned(over).table.location.removeprefix("file:")) == after
        session.run(f"DROP TABLE {name}")


class SqlOnly:
    """A session that offers nothing else."""

    can = Capabilities()

    def __init__(self, session: Any) -> None:
        self.rows = session.rows


@pytest.mark.more
def test_late_rows_that_are_known_are_not_read_again(session: Any, schema: str) -> None:
    """A run that finds no new late row asks for the version of their table only."""
    world = World(session, schema).create()
    model = world.model(ALL)
    world.run(model, 10)
    world.add((4, "late", None, 2))
    world.run(model, 20)
    answers = [(1, 0.0), (2, 1.0), (3, 5.0), (4, 10.000001)]
    assert world.answers() == answers

    def read_rows_of_late() -> int:
        return sum("_late.batch" in text and "LIMIT" in text for text in session.texts)

    for number, seconds in enumerate((30, 40)):
        world.add((5 + number, "in time", None, seconds - 1))
        session.texts.clear()
        world.run(model, seconds)
        answers.append((5 + number, seconds - 1.0))
        assert world.answers() == answers
        assert read_rows_of_late() == (1 if number == 0 else 0)
    world.add((9, "late too", None, 3))
    world.run(model, 60)
    world.add((10, "in time", None, 69))
    world.run(model, 70)
    assert world.answers() == sorted([*answers, (9, 40.000001), (10, 69.0)])


@pytest.mark.more
def test_a_date_is_late_in_one_zone_and_in_time_in_another(
    session: Any, schema: str, spark: SparkSession
) -> None:
    """What one process finds out in a session of one zone says nothing to one of another."""
    world, recall, hour = World(session, schema), Recall(), 3600
    session.run(f"create table {schema}.messages (id int, author string, ts date) using delta")
    session.run(f"insert into {schema}.messages values (1, 'a', date'2026-01-01')")

    def run(zone: str, seconds: float) -> None:
        spark.conf.set("spark.sql.session.timeZone", zone)
        try:
            model = world.model(ALL, zone.rpartition("/")[2].lower())
            clock = Clock(at(seconds))
            invocation = Invocation("test", clock, f"{schema}.tapestry_state", zone, recall)
            execute(session, prepare(session, model, invocation), invocation)
        finally:
            spark.conf.set("spark.sql.session.timeZone", "UTC")

    for zone in ("UTC", "Asia/Tokyo"):
        run(zone, 20 * hour)
    session.run(f"insert into {schema}.messages values (2, 'b', date'2026-01-02')")
    for zone in ("UTC", "Asia/Tokyo"):
        run(zone, 30 * hour)
    assert world.answers("utc") == [(1, 0.0), (2, 24.0 * hour)]
    assert world.answers("tokyo") == [(1, -9.0 * hour), (2, 20.0 * hour + 1e-6)]
