"""Models of the bulletin board over each way to a Spark: the rows of the embedded one."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyhive", reason="dbt-spark[PyHive] is not installed")
pytest.importorskip("grpc", reason="pyspark[connect] is not installed")
sys.path.insert(0, str(Path(__file__).parent))

from standalone import cluster, free_port
from test_servers import CONNECT, THRIFT, server
from there import DBT

from tapestry.demo.generator import write_messages

pytestmark = pytest.mark.spark

MODELS = ("q1_one_list", "q3_replied_in_list", "q4_unanswered", "no_reply_yet")
AT = ("2019-01-01", "2020-06-01")
"""Two runs; the messages before each are in the table then."""
MEMORY = {"spark.driver.memory": "1g", "spark.executor.memory": "512m"}
BBOARD = Path(__file__).parents[2] / "models/bboard"
SOURCE = {
    "sources": [
        {
            "name": "bboard",
            "schema": "there",
            "tables": [{"name": "messages", "config": {"loaded_at_field": "ts"}}],
        }
    ]
}
FILL = """
{% macro fill(since, until) %}
  {% do run_query("create schema if not exists there") %}
  {% set part = " from parquet.`PLACE` where ts >= timestamp'" ~ since ~ "' and ts < timestamp'"
    ~ until ~ "'" %}
  {% do run_query("create table if not exists there.messages using delta as select *"
    ~ part ~ " and false") %}
  {% do run_query("insert into there.messages select *" ~ part) %}
{% endmacro %}
"""
RUN = (
    DBT
    + """
since = "1900-01-01"
for as_of in AT:
    os.environ["TAPESTRY_AS_OF"] = as_of
    dbt("run-operation", "fill", "--args", json.dumps({"since": since, "until": as_of}))
    dbt("run")
    since = as_of
found = {}
for name in MODELS:
    columns = "* except (_matched_at)"
    table = dbt("show", "--inline", f"select {columns} from there.{name}", "--limit", "-1")
    found[name] = sorted([str(one) for one in row] for row in table.results[0].agate_table.rows)
print(json.dumps(found))
"""
)


def _answers(root: Path, output: dict[str, Any]) -> dict[str, Any]:
    """The rows of each model after two runs."""
    (root / "models").mkdir(parents=True)
    (root / "macros").mkdir()
    messages = root / "messages.parquet"
    write_messages(messages, 400, seed=7)
    (root / "macros/fill.sql").write_text(FILL.replace("PLACE", str(messages)))
    for name in MODELS:
        shutil.copy(BBOARD / f"{name}.sql", root / "models")
    project = {"name": "bboard", "profile": "p", "models": {"+materialized": "continuous"}}
    project["vars"] = {"one_list": "comp.databases"}
    target = {"type": "tapestry", "schema": "there", "threads": 8, **output}
    for file, content in {
        "dbt_project.yml": project,
        "profiles.yml": {"p": {"target": "t", "outputs": {"t": target}}},
        "models/sources.yml": SOURCE,
    }.items():
        (root / file).write_text(json.dumps(content))
    code = f"AT, MODELS = {AT!r}, {MODELS!r}\n{RUN}"
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr[-3000:]}"
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    output = {"method": "session", "server_side_parameters": {"spark.driver.memory": "1g"}}
    found = _answers(tmp_path_factory.mktemp("embedded") / "project", output)
    assert all(found.values()), {name: len(rows) for name, rows in found.items()}
    return found


@contextmanager
def _way(way: str, root: Path) -> Iterator[dict[str, Any]]:
    if way == "cluster":
        with cluster(root) as url:
            yield {"method": "session", "master": url, "server_side_parameters": MEMORY}
        return
    port = free_port()
    kind = "hadoop.hive.server2.thrift" if way == "thrift" else "connect.grpc.binding"
    host = f"spark.{kind}.bind.host" if way == "thrift" else f"spark.{kind}.address"
    settings = {f"spark.{kind}.port": str(port), host: "127.0.0.1", "spark.driver.memory": "1g"}
    with server(root, THRIFT if way == "thrift" else CONNECT, port, settings):
        if way == "thrift":
            yield {"method": "thrift", "host": "127.0.0.1", "port": port, "user": "u"}
        else:
            yield {"method": "session", "master": f"sc://127.0.0.1:{port}"}


@pytest.mark.parametrize("way", ["connect", "thrift", "cluster"])
def test_the_rows_of_the_embedded_spark(way: str, embedded: dict[str, Any], tmp_path: Path) -> None:
    with _way(way, tmp_path) as output:
        assert _answers(tmp_path / "project", output) == embedded
