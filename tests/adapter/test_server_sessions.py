"""Sessions of a server that is set otherwise than ours: over Thrift and Connect as embedded.

One server answers both. What the embedded Spark says comes first, and is stopped before.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from dbt.adapters.exceptions import FailedToConnectError

pytest.importorskip("pyhive", reason="dbt-spark[PyHive] is not installed")
pytest.importorskip("grpc", reason="pyspark[connect] is not installed")
sys.path.insert(0, str(Path(__file__).parent))

from reached import Reached
from standalone import free_port
from test_servers import THRIFT, server

from dbt.adapters.tapestry.answer_settings import ANSI, ZONE, unusual
from dbt.adapters.tapestry.session import DbtSession
from tapestry.runs.query import holding
from tapestry.runs.sources.describe import describe
from tapestry.runs.tables.target import look, newest_commits

pytestmark = pytest.mark.spark

OTHERWISE = {
    # Spark 4's own ANSI mode is on.
    "spark.sql.session.timeZone": "Asia/Tokyo",
    "spark.sql.caseSensitive": "true",
    "spark.sql.legacy.ctePrecedencePolicy": "LEGACY",
    "spark.sql.storeAssignmentPolicy": "LEGACY",
    "spark.sql.mapKeyDedupPolicy": "LAST_WIN",
    "spark.sql.legacy.sizeOfNull": "false",
    "spark.sql.parser.escapedStringLiterals": "true",
    "spark.sql.legacy.setopsPrecedence.enabled": "true",
}
NESTED = """
WITH t AS (SELECT 1 AS x), u AS (WITH t AS (SELECT 2 AS x) SELECT x FROM t) SELECT x FROM u
"""
ASKED = [
    NESTED,
    "SELECT CAST('12 x' AS INT), 1 / 0",
    "SELECT current_timezone(), hour(timestamp'2026-01-01 00:00:00+00:00')",
    "SELECT A FROM (SELECT 1 AS a)",
    "SELECT size(CAST(NULL AS ARRAY<INT>))",
    r"SELECT '\\d', length('a\tb')",
    "SELECT 1 UNION SELECT 1 INTERSECT SELECT 2",
    "SELECT array('a', NULL, 'b,c'), map('k', 'v', 'l', 'x,y'), array(1, 2), date'2026-02-03'",
    "SELECT timestamp'2026-01-02 03:04:05.678', CAST(1.50 AS DECIMAL(10, 2)), true, 7L, 1.5D",
    "SELECT CAST(NULL AS ARRAY<STRING>), CAST(NULL AS DATE), CAST('ab' AS BINARY), NULL",
    "SHOW TBLPROPERTIES there.parts ('k')",
    "DESCRIBE TABLE there.parts",
    "DESCRIBE QUERY SELECT * FROM there.parts",
    "SHOW COLUMNS IN there.parts",
    "SHOW TABLES IN there LIKE 'p*'",
    "SELECT `a,b`, count(*) FROM there.parts GROUP BY 1",
]
MADE = [
    "CREATE SCHEMA IF NOT EXISTS there",
    "DROP TABLE IF EXISTS there.parts",
    "DROP TABLE IF EXISTS there.laid",
    'CREATE OR REPLACE TABLE there.parts (id INT, `a,b` STRING, `c"d` STRING, ts TIMESTAMP)'
    ' USING delta PARTITIONED BY (`a,b`, `c"d`) TBLPROPERTIES'
    " ('delta.columnMapping.mode' = 'name', 'k' = 'a\"b,c:d', 'j' = '{\"n\":\"x\",\"m\":\"}\"}')",
    "INSERT INTO there.parts VALUES (1, 'p', 'q', timestamp'2026-01-01 00:00:00+00:00')",
    "CREATE OR REPLACE TABLE there.laid (id INT, v STRING) USING delta CLUSTER BY (id, v)",
]
OURS = {"spark.driver.memory": "1g", "spark.sql.shuffle.partitions": "1"}


def _answers(session: DbtSession) -> dict[str, Any]:
    """What is read of a session: rows, and what is made of them."""
    for statement in MADE:
        session.run(statement)
    found: dict[str, Any] = {sql: session.rows(sql) for sql in ASKED}
    for table in ("parts", "laid"):
        (detail,) = session.rows(f"DESCRIBE DETAIL there.{table}")
        # Neither ids, places nor times are the same in two warehouses.
        found[f"detail of {table}"] = [detail[0], *detail[7:10], *detail[11:]]
        found[f"types of {table}"] = [type(value).__name__ for value in detail]
        seen: Any = describe(session, f"there.{table}")
        found[f"source {table}"] = (seen.columns, seen.partitioned_by, seen.properties, seen.size)
        found[f"changed {table}"] = seen.changed is not None and seen.changed.tzinfo is not None
        target = look(session, f"there.{table}")
        assert target is not None
        found[f"target {table}"] = (target.files, target.size, target.generation)
        found[f"commits of {table}"] = [
            (c.version, c.operation, c.rows) for c in newest_commits(session, f"there.{table}")
        ]
    found["settings"] = unusual(session.settings)
    found["zone"] = session.time_zone
    return found


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    from pyspark import SparkContext

    root = tmp_path_factory.mktemp("embedded")
    with Reached(root=str(root), server_side_parameters=OURS).session() as session:
        found = _answers(session)
    context = SparkContext._active_spark_context
    assert context is not None
    context.stop()
    return found


@pytest.fixture(scope="module")
def ways(
    embedded: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, dict[str, Any]]]:
    """How the server is reached, by the name of the way."""
    thrift, connect = free_port(), free_port()
    settings = {
        **OTHERWISE,
        "spark.driver.memory": "1g",
        "spark.hadoop.hive.server2.thrift.port": str(thrift),
        "spark.hadoop.hive.server2.thrift.bind.host": "127.0.0.1",
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.port": str(connect),
        "spark.connect.grpc.binding.address": "127.0.0.1",
    }
    with server(tmp_path_factory.mktemp("server"), THRIFT, thrift, settings):
        yield {
            "thrift": {"method": "thrift", "host": "127.0.0.1", "port": thrift, "user": "u"},
            "connect": {"method": "session", "master": f"sc://127.0.0.1:{connect}"},
        }


@pytest.mark.parametrize("way", ["thrift", "connect"])
def test_every_statement_that_is_read_gives_what_it_gives_embedded(
    way: str, ways: dict[str, dict[str, Any]], embedded: dict[str, Any]
) -> None:
    with Reached(**ways[way]).session() as session:
        found = _answers(session)
    for asked, answer in embedded.items():
        assert found[asked] == answer, asked
    assert found["detail of parts"][1] == ["a,b", 'c"d']
    assert found["detail of laid"][2] == ["id", "v"]


@pytest.mark.parametrize("way", ["thrift", "connect"])
def test_the_profile_s_parameters_take_effect(way: str, ways: dict[str, dict[str, Any]]) -> None:
    given = {ZONE: "Europe/Berlin", ANSI: True, "my.key": 'it\'s; "so" `and` -- so'}
    with Reached(**ways[way], server_side_parameters=given).session() as session:
        assert session.time_zone == "Europe/Berlin"
        assert session.opened["my.key"] == given["my.key"]
        assert unusual(session.opened) == (f"{ANSI} = true",)
        with pytest.raises(Exception, match="CAST_INVALID_INPUT"):
            session.rows("SELECT CAST('12 x' AS INT)")
    with Reached(**ways[way], server_side_parameters={ANSI: None}).session() as session:
        assert unusual(session.opened) == (f"{ANSI} = true",)


@pytest.mark.parametrize("way", ["thrift", "connect"])
@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("spark.executor.memory", "1g", "cannot change it"),
        ("spark.sql.warehouse.dir", "/elsewhere", "cannot change it"),
        (ANSI, "perhaps", "a value that Spark does not know"),
    ],
)
def test_what_a_server_does_not_take_is_said(
    way: str, key: str, value: str, said: str, ways: dict[str, dict[str, Any]]
) -> None:
    reached = Reached(**ways[way], server_side_parameters={key: value})
    with pytest.raises(FailedToConnectError) as refused, reached.session() as session:
        session.rows("SELECT 1")
    assert key in refused.value.msg
    assert said in refused.value.msg


@pytest.mark.parametrize("way", ["thrift", "connect"])
def test_eight_threads_have_sessions_of_their_own(
    way: str, ways: dict[str, dict[str, Any]]
) -> None:
    """What one sets or makes is not there for the others, and all is as it was in the end."""
    reached, barrier = Reached(**ways[way]), Barrier(8, timeout=120)

    def work(number: int) -> tuple[Any, ...]:
        with reached.session(f"model {number}") as session:
            before = session.settings
            barrier.wait()
            for turn in range(3):
                view = holding.new_view()
                holding.make(session, view, f"{NESTED} UNION ALL SELECT {number}")
                rows = sorted(session.rows(f"SELECT x FROM {view}"))
                assert rows == sorted([(2,), (number,)]), (number, turn)
                held = holding.Holding(selects={view: ""})
                holding.release(session, held)
            session.run(f"SET spark.sql.shuffle.partitions={number + 10}")
            session.run(f"CREATE TEMPORARY VIEW mine AS SELECT {number} AS n")
            barrier.wait()
            mine = session.rows("SELECT n FROM mine")
            ((_, parts),) = session.rows("SET spark.sql.shuffle.partitions")
            session.run("RESET spark.sql.shuffle.partitions")
            after = session.settings  # Delta sets something when it is first read
            same = before.items() <= after.items() and unusual(after) == ()
            return same, session.rows(NESTED), mine, parts

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(work, range(8)))
    assert found == [(True, [(2,)], [(n,)], str(n + 10)) for n in range(8)]
    with reached.session() as session:
        assert session.rows("SHOW VIEWS") == []
