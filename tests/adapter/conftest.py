"""One Spark for the whole test run, a schema of its own for every test class."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import sqlglot

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "conformance: dbt-tests-adapter's classes on this adapter (minutes, not seconds)"
    )


SMALL_DATA = {
    "spark.driver.memory": "2g",
    "spark.sql.shuffle.partitions": "1",
    "spark.default.parallelism": "1",
    # A handful of rows is over before generated code is compiled.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
}


@pytest.fixture(scope="session")
def embedded_spark(tmp_path_factory: pytest.TempPathFactory) -> SparkSession:
    """The process's Spark; whichever folder of tests comes first has started it."""
    from dbt.adapters.tapestry import embedded

    return embedded.start(SMALL_DATA, root=tmp_path_factory.mktemp("spark"))


@pytest.fixture(scope="session")
def warehouse(embedded_spark: SparkSession) -> Path:
    """The folder under which the tables of all test classes lie."""
    return Path(str(embedded_spark.conf.get("spark.sql.warehouse.dir")).removeprefix("file:"))


@pytest.fixture(scope="class")
def dbt_profile_target(warehouse: Path) -> dict[str, Any]:
    """What the `project` fixture of dbt writes to profiles.yml; it adds the schema."""
    return {
        "type": "tapestry",
        "method": "session",
        "threads": 2,
        "server_side_parameters": {"spark.sql.warehouse.dir": str(warehouse)},
    }


@pytest.fixture(scope="class")
def profile_user() -> str:
    """An embedded Spark knows no users; some suites ask for one."""
    return "nobody"


@pytest.fixture(scope="class")
def from_postgres() -> Callable[[Any], Any]:
    """Let a suite's `project.run_sql` say in Spark's words what it says in PostgreSQL's."""

    def translating(project: Any) -> Any:
        run = type(project).run_sql

        def run_sql(sql: str, fetch: str | None = None) -> Any:
            sql = sql.replace("{schema}", project.test_schema)
            sql = sql.replace("{database}.", "")
            result = None
            for statement in sqlglot.transpile(sql, read="postgres", write="spark", comments=False):
                if statement.strip():
                    result = run(project, statement, fetch=fetch)
            return result

        project.run_sql = run_sql
        return project

    return translating
