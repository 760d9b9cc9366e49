"""One Spark session with Delta for all tests of this folder, seen through the run's protocol."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from itertools import count
from typing import Any

import pytest
from delta import configure_spark_with_delta_pip
from pyspark.sql import SparkSession
from tests.one_feed import mixed_up
from tests.spark.run_world import World

from dbt.adapters.tapestry.delta_logs import DeltaLogs
from dbt.adapters.tapestry.log_store import use_links
from dbt.adapters.tapestry.overrides import Overrides, once
from dbt.adapters.tapestry.session import BESIDE, marked_jobs
from dbt.adapters.tapestry.settings import FILE_MANAGER
from tapestry.runs.context.shared_views import SCHEMA
from tapestry.runs.engine.session import Capabilities, Session
from tapestry.runs.engine.stop_after import stop_after
from tapestry.runs.sources.too_old import READS_OLD

SETTINGS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.databricks.delta.snapshotPartitions": "1",
    **READS_OLD,
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "3g",
    "spark.driver.extraJavaOptions": "-XX:ReservedCodeCacheSize=512m",
    # A thousand tables are made here; what Spark and Delta remember of each would fill the heap,
    # and much of the time would go into looking for what can be forgotten.
    "spark.sql.ui.retainedExecutions": "50",
    "spark.databricks.delta.delta.log.cacheSize": "50",
    "spark.buffer.pageSize": "512k",
    # Compiling and re-planning tiny queries takes longer than running them.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.streaming.checkpointFileManagerClass": FILE_MANAGER,
}

_schemas = count(1)


class SparkSql:
    """The session protocol over a SparkSession; ``texts`` records what was asked of it."""

    def __init__(self, spark: SparkSession) -> None:
        """It can do what the embedded session can and what these tests are about."""
        self.spark = spark
        self.texts: list[str] = []
        self.overrides = Overrides(spark.conf)
        logs = DeltaLogs(spark)
        self.can = Capabilities(
            frame=self.frame,
            glance=logs.newest,
            commits=logs.commits,
            meanwhile=BESIDE.submit,
            planned_once=self.planned_once,
            apart=self.apart,
            stop_after=lambda seconds: stop_after(seconds, marked_jobs(self.spark)),
            keeps_memory=lambda: True,
        )

    @contextmanager
    def apart(self, settings: Mapping[str, str]) -> Iterator[Session]:
        """Another session of the same Spark."""
        other = SparkSql(self.spark.newSession())
        for key, value in settings.items():
            other.spark.conf.set(key, value)
        yield other

    def run(self, sql: str) -> None:
        """Execute a statement."""
        self.note(sql)
        self.spark.sql(sql)

    def note(self, sql: str) -> None:
        """Remember a text; it must not read a table's feed in a way that Spark 4.1 mixes up."""
        assert not mixed_up(sql), f"Spark reads one of these in the place of the other: {sql}"
        self.texts.append(sql)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Execute a query and return its rows."""
        self.note(sql)
        return [tuple(row) for row in self.spark.sql(sql).collect()]

    def frame(self, sql: str) -> Any:
        """A dataframe, as the embedded session gives one."""
        self.note(sql)
        return self.spark.sql(sql)

    def planned_once(self) -> AbstractContextManager[None]:
        """As the embedded session has it."""
        return self.overrides.inside(once(self.spark.conf))


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The one Spark session: two threads, Delta, nothing of it outside a temporary folder."""
    warehouse = tmp_path_factory.mktemp("warehouse")
    builder = SparkSession.builder.master("local[2]").config("spark.sql.warehouse.dir", warehouse)
    for key, value in SETTINGS.items():
        builder = builder.config(key, value)
    session = configure_spark_with_delta_pip(builder).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    assert use_links(session.sparkContext)
    yield session
    session.stop()


@pytest.fixture
def session(spark: SparkSession) -> SparkSql:
    """The session through the protocol of the runs."""
    adapted = SparkSql(spark)
    protocol: Session = adapted
    assert protocol is adapted
    return adapted


@pytest.fixture
def schema(spark: SparkSession) -> Iterator[str]:
    """An empty schema of its own for each test."""
    name = f"s{next(_schemas)}"
    spark.sql(f"CREATE SCHEMA {name}")
    yield name
    spark.sql(f"DROP SCHEMA {name} CASCADE")


@pytest.fixture
def world(session: SparkSql, schema: str) -> World:
    """A source with three messages."""
    return World(session, schema).create()


@pytest.fixture
def released(world: World) -> Iterator[None]:
    """At the end, drop what invocations that only planned have left in memory."""
    yield
    world.release()


@pytest.fixture
def nothing_is_left(session: SparkSql) -> Iterator[None]:
    """After the test Spark has no view that invocations share, and keeps nothing in memory."""
    yield
    assert session.rows(f"SHOW VIEWS IN {SCHEMA}") == []
    assert session.spark._jsparkSession.sharedState().cacheManager().isEmpty()
