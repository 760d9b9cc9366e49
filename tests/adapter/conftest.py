"""One Spark for the whole test run, a schema of its own for every test class."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import sqlglot

if TYPE_CHECKING:
    pass


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "conformance: dbt-tests-adapter's classes on this adapter (minutes, not seconds)"
    )


@pytest.fixture(scope="session")
def h2(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A JVM with the catalog's database and nothing else, with the options that Spark's gets."""
    yield from _jvm_of_h2(tmp_path_factory.mktemp("h2"))


@pytest.fixture(scope="session")
def other_h2(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A second process that opens catalogs."""
    yield from _jvm_of_h2(tmp_path_factory.mktemp("h2"))


def _jvm_of_h2(folder: Path) -> Iterator[Any]:
    from importlib.util import find_spec

    from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

    from dbt.adapters.tapestry.settings import start_settings

    settings = start_settings({}, folder, None)
    (database,) = [jar for jar in settings["spark.jars"].split(",") if "h2database" in jar]
    found = find_spec("pyspark")
    assert found is not None
    assert found.origin is not None
    (py4j,) = Path(found.origin).parent.glob("jars/py4j-*.jar")
    home = os.environ.get("JAVA_HOME")
    port, token = launch_gateway(
        jarpath=str(py4j),
        classpath=database,
        javaopts=[*settings["spark.driver.extraJavaOptions"].split(), "-Xmx64m"],
        java_path=os.path.join(home, "bin", "java") if home else "java",
        die_on_exit=True,
        enable_auth=True,
    )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token))
    yield gateway.jvm
    gateway.shutdown()


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
