"""A warehouse on S3 (a server on the loopback), its catalog in PostgreSQL, and two machines."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))

from there import RIGHT, make_project, run_twice

from postgres_server import running
from tapestry.runs.engine.locations import CATALOG_FOLDER

pytestmark = pytest.mark.spark

SDK = "2.29.52"
"""The version that hadoop-aws 3.4.2 is built with; its bundle of all services has 600 MB."""
PACKAGES = (
    "org.apache.hadoop:hadoop-aws:3.4.2",
    f"software.amazon.awssdk:s3:{SDK}",
    f"software.amazon.awssdk:s3-transfer-manager:{SDK}",
    f"software.amazon.awssdk:sts:{SDK}",
    "org.postgresql:postgresql:42.7.7",
)
NOT_NEEDED = ("software.amazon.awssdk:bundle", "software.amazon.awssdk:netty-nio-client")
IVY = str(Path.home() / ".ivy2.5.2")
"""Where Spark keeps the jars that it has fetched."""
JDO = "spark.hadoop.javax.jdo.option.Connection"
COMMANDS = """
import json, sys
from click.testing import CliRunner
from dbt.cli.main import dbtRunner
from tapestry.cli.main import commands

def dbt(*words):
    result = dbtRunner().invoke([*words, "--quiet"])
    return (0 if result.success else 1), str(result.exception or result.result)

def tapestry(*words):
    result = CliRunner().invoke(commands, words)
    return result.exit_code, result.output + repr(result.exception)

said = [globals()[program](*words) for program, *words in json.loads(sys.argv[1])]
shown = dbtRunner().invoke(
    ["show", "--inline", "select id from there.unanswered order by id", "--limit", "-1", "--quiet"]
)
rows = shown.result.results[0].agate_table.rows if shown.success else []
print(json.dumps([said, [int(row[0]) for row in rows]]))
"""
MORE = """
{% macro more() %}
  {% do run_query("insert into there.messages values (6, null, timestamp'2026-01-08')") %}
{% endmacro %}
"""


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    """The address of a server of buckets with the bucket ``lake``."""
    boto3 = pytest.importorskip("boto3", reason="moto[s3] is not installed")
    server = pytest.importorskip("moto.server").ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    try:
        address = "http://{}:{}".format(*server.get_host_and_port())
        keys = {"aws_access_key_id": "any", "aws_secret_access_key": "any"}
        client = boto3.client("s3", endpoint_url=address, region_name="us-east-1", **keys)
        client.create_bucket(Bucket="lake")
        yield address
    finally:
        server.stop()


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    """The JDBC address of an empty PostgreSQL that several machines reach."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    with running(port):
        yield f"jdbc:postgresql://127.0.0.1:{port}/postgres"


def _output(s3: str, warehouse: str, catalog: dict[str, str]) -> dict[str, Any]:
    """A target of profiles.yml whose warehouse is on S3."""
    of_s3 = {
        "endpoint": s3,
        "endpoint.region": "us-east-1",
        "path.style.access": "true",
        "connection.ssl.enabled": "false",
        "access.key": "any",
        "secret.key": "any",
    }
    settings = {
        "spark.driver.memory": "1g",
        # A handful of rows is over before code for it is compiled.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.warehouse.dir": warehouse,
        "spark.jars.packages": ",".join(PACKAGES),
        "spark.jars.excludes": ",".join(NOT_NEEDED),
        "spark.jars.ivy": IVY,
        **{f"spark.hadoop.fs.s3a.{key}": value for key, value in of_s3.items()},
        **catalog,
    }
    return {"type": "tapestry", "schema": "there", "server_side_parameters": settings}


def _in_database(address: str) -> dict[str, str]:
    return {
        f"{JDO}URL": address,
        f"{JDO}DriverName": "org.postgresql.Driver",
        f"{JDO}UserName": "dbt",
        f"{JDO}Password": "none",
    }


def _run(root: Path, *commands: tuple[str, ...]) -> tuple[list[Any], list[int]]:
    """What dbt and `tapestry` said, in one process with a HOME of its own; and the answers."""
    environment = {**os.environ, "HOME": str(root / "home"), "XDG_CACHE_HOME": str(root / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", COMMANDS, json.dumps(commands)],
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr[-3000:]}"
    said, answers = json.loads(done.stdout.splitlines()[-1])
    return said, answers


def test_a_project_on_s3_and_a_second_machine(
    s3: str, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for root in (first, second):
        root.mkdir()
        make_project(root, _output(s3, "s3a://lake/warehouse", _in_database(database)))
        (root / "macros/more.sql").write_text(MORE)
    assert run_twice(first) == RIGHT
    assert not list(first.glob("s3a*"))
    assert not list(first.rglob("catalog.mv.db"))

    monkeypatch.setenv("TAPESTRY_AS_OF", "2026-01-10")
    said, answers = _run(
        second,
        ("dbt", "run-operation", "more"),
        ("dbt", "run"),
        ("tapestry", "verify", "unanswered"),
        ("tapestry", "report", "--json"),
        ("tapestry", "rewind", "unanswered", "--to", "2026-01-03", "--yes"),
    )
    assert [code for code, _ in said] == [0] * 5, said
    assert "unanswered" in said[3][1]
    assert answers == [3]
    said, answers = _run(first, ("dbt", "run"))
    assert said[0][0] == 0, said
    assert answers == [3, 4, 5, 6]

    # A machine with a catalog of its own makes no first run over what is there.
    third = tmp_path / "third"
    third.mkdir()
    own = {CATALOG_FOLDER: str(third / "catalog")}
    make_project(third, _output(s3, "s3a://lake/warehouse", own))
    said, answers = _run(third, ("dbt", "run"))
    assert said[0][0] != 0
    assert "catalog knows no schema there, but in s3a://lake/warehouse/there.db lie" in said[0][1]
    assert answers == []
    assert list((third / "catalog").rglob("catalog.mv.db"))
