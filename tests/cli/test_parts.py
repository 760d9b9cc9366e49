"""Parts of the commands that need no Spark: advice, storage, completion, sizes, dialects."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner
from tests.eject.board import MODELS, ejected_files
from tests.sql.test_pairs import CATALOG, START

from dbt.adapters.tapestry.log_store import CLASS
from tapestry.cli.advice import Table, advise
from tapestry.cli.check_catalog import check_catalog
from tapestry.cli.check_server import check_server
from tapestry.cli.check_sources import check_sources
from tapestry.cli.check_storage import DYNAMO, check_storage, exclusion
from tapestry.cli.confirm import confirm
from tapestry.cli.eject import known_dialect, with_upstream, write_files
from tapestry.cli.eject_files import Ejected, eject_files
from tapestry.cli.eject_macros import test_macros as macros_of_tests
from tapestry.cli.main import commands
from tapestry.cli.models import Manifest
from tapestry.cli.sizes import Size
from tapestry.errors import ConfigurationError
from tapestry.runs.after.preview import Cost, Preview, plain_statement, size_in
from tapestry.runs.engine.locations import CATALOG_FOLDER
from tapestry.runs.model.model import Model, ModelConfig
from tapestry.runs.query.relations import Relations
from tapestry.runs.sources.describe import DeltaSource
from tapestry.runs.sources.pins import Pin, Pinned
from tapestry.sql import Rewriting, Scan, Window, rewrite
from tapestry.sql.look.source_reads import readings
from tapestry.words import size_text

SCANS = {"messages": Scan("db.messages", "ts", "id")}
WINDOW = Window(START, START + timedelta(days=1))
JOIN = "select m.id from messages m join messages r on r.parent = m.id"
PLAN = """== Optimized Logical Plan ==
Project [id#1], Statistics(sizeInBytes=99.0 MiB)
+- Join Inner, (parent#2 = id#1), Statistics(sizeInBytes=1.0 EiB)
   :- Filter (ts#3 > 1), Statistics(sizeInBytes=25.1 KiB)
   :  +- Relation db.m[id#1,ts#3] parquet, Statistics(sizeInBytes=25.1 KiB)
   +- Relation db.n[parent#2] parquet, Statistics(sizeInBytes=2.0 MiB, rowCount=7)

== Physical Plan ==
Relation db.x[id#1] parquet, Statistics(sizeInBytes=5.0 GiB)
"""


def advice(query: str, narrow: int, files: int = 100, clustered: tuple[str, ...] = ()) -> list[str]:
    """The advice where every narrowed reading reads so many bytes of 1000."""

    def rewrite_with(assume: tuple[str, ...]) -> Rewriting:
        return rewrite(query, CATALOG, assume=assume)

    rewriting = rewrite_with(())
    found = readings(plain_statement(rewriting, WINDOW, SCANS), SCANS)
    looked_at: Any = Preview(SimpleNamespace(rewriting=rewriting), WINDOW, False, SCANS, found)  # type: ignore[arg-type]
    costs = {(r.source, r.predicate): Cost(narrow if r.narrowed else 1000, 1) for r in found}
    costs["messages", ""] = Cost(1000, files)
    tables = {"messages": Table("ts", clustered, (), files)}
    return advise(looked_at, costs, tables, rewrite_with, ())


def test_an_order_that_removes_branches_is_proposed() -> None:
    found = advice(JOIN, narrow=10)
    assert any('assume: ["r.ts >= m.ts"] removes 1 of 2 branches' in line for line in found)
    one = advice("select id from messages", narrow=10)
    assert not any("assume" in line for line in one)


def test_clustering_is_proposed_where_a_narrow_range_reads_much() -> None:
    proposal = "alter table messages cluster by (ts)"
    query = "select id from messages"
    assert any(proposal in line for line in advice(query, narrow=900))
    assert advice(query, narrow=10) == []
    assert advice(query, narrow=900, clustered=("ts",)) == []
    assert advice(query, narrow=900, files=3) == [], "few files are read at once anyway"


def test_bytes_of_a_plan_are_those_of_its_relations() -> None:
    assert size_in(PLAN) == int(25.1 * 1024) + 2 * 2**20
    assert size_in("== Optimized Logical Plan ==\nLocalRelation <empty>, [id#1]\n") == 0


@pytest.mark.parametrize(
    ("scheme", "log_store", "status"),
    [
        ("hdfs", "", "ok"),
        ("abfss", "", "ok"),
        ("gs", "", "ok"),
        ("s3a", "", "wrong"),
        ("s3a", DYNAMO, "ok"),
        ("s3a", "io.delta.storage.S3SingleDriverLogStore", "wrong"),
        ("file", "", "note"),
        ("file", CLASS, "ok"),
        ("file", "org.example.LogStore", "note"),
        ("cosn", "", "note"),
    ],
)
def test_which_storage_lets_one_of_two_writers_win(
    scheme: str, log_store: str, status: str
) -> None:
    finding = exclusion(f"{scheme}://bucket/warehouse", scheme, log_store)
    assert finding.status == status
    assert bool(finding.fix) == (status != "ok")


@pytest.mark.parametrize(
    ("given", "master", "status", "says"),
    [
        ({}, None, "ok", "a file in {root}/warehouse"),
        ({"spark.sql.warehouse.dir": "s3a://lake/w"}, None, "wrong", "no folder of this machine"),
        ({"spark.sql.warehouse.dir": "file://data/w"}, None, "wrong", "no folder of this machine"),
        (
            {"spark.sql.warehouse.dir": "hdfs:///w", CATALOG_FOLDER: "/data/catalog"},
            "spark://host:7077",
            "note",
            "another one finds no tables",
        ),
        (
            {
                "spark.sql.warehouse.dir": "abfss://c@a/w",
                "spark.hadoop.javax.jdo.option.ConnectionURL": "jdbc:postgresql://db/c?password=p",
            },
            "spark://host:7077",
            "ok",
            "jdbc:postgresql://db/c, for tables in abfss://c@a/w",
        ),
        ({}, "spark://host:7077", "note", "every worker of spark://host:7077"),
    ],
)
def test_where_the_catalog_is(
    given: dict[str, str], master: str | None, status: str, says: str, tmp_path: Path
) -> None:
    finding = check_catalog(given, tmp_path, master)
    assert finding.status == status
    assert says.format(root=tmp_path) in finding.told
    assert "password" not in finding.told
    assert bool(finding.fix) == (status != "ok")


class Answers:
    """A session that answers from a table of statements."""

    def __init__(self, answers: dict[str, list[tuple[Any, ...]]]) -> None:
        self.answers = answers

    def run(self, sql: str) -> None:
        raise AssertionError(sql)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        for begin, rows in self.answers.items():
            if sql.replace("`", "").startswith(begin.replace("`", "")):
                return rows
        raise RuntimeError(f"[TABLE_OR_VIEW_NOT_FOUND] {sql}")


def test_the_schemas_location_counts_and_the_setting_for_its_scheme() -> None:
    answers = {
        "DESCRIBE SCHEMA": [("Namespace Name", "prod"), ("Location", "s3a://lake/prod.db")],
        "SET spark.delta.logStore.s3a.impl": [("spark.delta.logStore.s3a.impl", DYNAMO)],
    }
    assert check_storage(Answers(answers), "prod").status == "ok"
    answers["SET spark.delta.logStore.s3a.impl"] = [("…", "<undefined>")]
    answers["SET spark.delta.logStore.class"] = [("…", "<undefined>")]
    assert check_storage(Answers(answers), "prod").status == "wrong"


SIZED = {
    "EXPLAIN": [("== Physical Plan ==\n*(1) Range (0, 1, step=1, splits=4)\n",)],
    "SET spark.master": [("spark.master", "local[4]")],
    "SET spark.sql.shuffle.partitions": [("spark.sql.shuffle.partitions", "4")],
    "SET spark.databricks.delta.snapshotPartitions": [("…", "1")],
    "SET spark.sql.codegen.cache.maxEntries": [("…", "1000")],
    "SET spark.buffer.pageSize": [("…", "512k")],
    "SET spark.driver.extraJavaOptions": [("…", "-XX:ReservedCodeCacheSize=512m")],
}


@pytest.mark.parametrize(
    ("key", "found", "advice"),
    [
        ("spark.sql.shuffle.partitions", "200", "spark.sql.shuffle.partitions=4"),
        ("spark.databricks.delta.snapshotPartitions", "<undefined>", "snapshotPartitions=1"),
        ("spark.sql.codegen.cache.maxEntries", "100", "maxEntries=1000"),
        ("spark.buffer.pageSize", "<undefined>", "pageSize=512k"),
        ("spark.driver.extraJavaOptions", "-Xss4m", "ReservedCodeCacheSize=512m"),
    ],
)
def test_what_a_server_is_started_with(key: str, found: str, advice: str) -> None:
    assert check_server(Answers(SIZED)).status == "ok"
    finding = check_server(Answers({**SIZED, f"SET {key}": [(key, found)]}))
    assert finding.status == "note"
    assert advice in finding.fix
    assert finding.fix.count("--conf") == 1
    assert "4 cores" in finding.told


def test_a_large_clusters_parts_are_no_fault() -> None:
    """200 parts on a hundred cores; and a server that does not say how many it has."""
    large = {
        **SIZED,
        "EXPLAIN": [("Range (0, 1, step=1, splits=100)",)],
        "SET spark.master": [("spark.master", "yarn")],
        "SET spark.buffer.pageSize": [("…", "<undefined>")],
        "SET spark.sql.shuffle.partitions": [("…", "200")],
    }
    assert check_server(Answers(large)).status == "ok"
    assert check_server(Answers({})).status == "note"


def _manifest(arrival: str | None, reads: str = "source.p.s.messages") -> Manifest:
    source = {
        **{"name": "messages", "source_name": "s", "identifier": "messages"},
        **{"resource_type": "source", "relation_name": "db.messages"},
        "config": {"loaded_at_field": arrival},
    }

    def model(name: str, kind: str, on: str) -> dict[str, Any]:
        return {
            **{"name": name, "resource_type": "model", "unique_id": f"model.p.{name}"},
            **{"relation_name": f"db.{name}", "original_file_path": f"models/{name}.sql"},
            **{"config": {"materialized": kind}, "depends_on": {"nodes": [on]}},
        }

    nodes = {
        "model.p.first": model("first", "continuous", reads),
        "model.p.view": model("view", "view", "model.p.first"),
        "model.p.second": model("second", "continuous", "model.p.view"),
    }
    graph = {"nodes": nodes, "sources": {"source.p.s.messages": source}}
    return Manifest(Path("p"), graph, (), None)


def _columns(*names: str) -> list[tuple[str, str, None]]:
    rows = [(name, "timestamp" if name == "ts" else "int", None) for name in names]
    return [*rows, ("", "", None), ("# Detailed Table Information", "", None),
            ("Provider", "delta", None)]  # fmt: skip


def _detail(files: int, clustered: list[str]) -> list[tuple[Any, ...]]:
    return [("delta", "id", "n", None, "file:/x", None, None, [], clustered, files, 10, {}, 1, 2)]


def test_sources_are_looked_at() -> None:
    many = [f"c{n}" for n in range(40)]
    answers = {
        "DESCRIBE TABLE EXTENDED `db`.`messages`": _columns("id", "ts"),
        "DESCRIBE TABLE EXTENDED `db`.`view`": [
            ("id", "int", None),
            ("# Detailed Table Information", "", None),
            ("Type", "VIEW", None),
            ("View Text", "select id from db.first", None),
        ],
        "DESCRIBE DETAIL": _detail(100, []),
    }
    found = list(check_sources(Answers(answers), _manifest("ts")))
    assert [f.status for f in found] == ["ok", "note", "ok"]
    assert "cluster by (ts)" in found[1].fix
    answers["DESCRIBE DETAIL"] = _detail(100, ["ts"])
    assert [f.status for f in check_sources(Answers(answers), _manifest("ts"))] == ["ok", "ok"]
    answers["DESCRIBE TABLE EXTENDED `db`.`messages`"] = _columns(*many, "ts")
    found = list(check_sources(Answers(answers), _manifest("ts")))
    assert "keeps no statistics of ts" in found[1].told
    (wrong, *_) = check_sources(Answers(answers), _manifest(None))
    assert (wrong.status, "loaded_at_field: ts" in wrong.fix) == ("wrong", True)
    (wrong, *_) = check_sources(Answers(answers), _manifest("c1"))
    assert (wrong.status, "has the type int" in wrong.told) == ("wrong", True)
    source, view = check_sources(Answers({}), _manifest("ts"))
    assert "there is no table or view db.messages" in source.told
    assert source.fix.startswith("load or build it first")
    assert view.fix == "dbt run --select view"


def test_upstream_continuous_models_are_ejected_too() -> None:
    assert with_upstream(_manifest("ts"), ["second"]) == ["first", "second"]
    with pytest.raises(ConfigurationError, match="is not continuous"):
        with_upstream(_manifest("ts"), ["view"])


def test_files_that_are_there_stay(tmp_path: Path) -> None:
    files = {"models/a.sql": "one", "b.yml": "two"}
    (tmp_path / "b.yml").write_text("mine")
    with pytest.raises(ConfigurationError, match="there already"):
        write_files(tmp_path, files, overwrite=False)
    assert not (tmp_path / "models").exists(), "all or none"
    write_files(tmp_path, files, overwrite=True)
    assert (tmp_path / "models/a.sql").read_text() == "one"


@pytest.mark.parametrize("dialect", ["snowflake", "bigquery", "trino", "redshift", "databricks"])
def test_other_dialects_are_written_and_marked_untested(dialect: str) -> None:
    known_dialect(dialect)
    files = ejected_files(dialect)
    for name in MODELS:
        assert "(UNTESTED)" in files[f"models/{name}.sql"]
        assert "\ufdd0" not in files[f"models/{name}.sql"] + files[f"macros/{name}_tests.sql"]
    assert ("except all" in macros_of_tests(dialect)) == (dialect == "databricks")


def test_the_authors_braces_are_no_template() -> None:
    files = ejected_files("duckdb")
    assert "= '{{ '{%' }} x'" in files["models/reminders.sql"]
    assert "= '{{ '{%' }} x'" in files["macros/reminders_tests.sql"]


def test_names_of_models_are_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    complete = ShellComplete(commands, {}, "tapestry", "_TAPESTRY_COMPLETE")
    assert complete.get_completions(["explain"], "un") == []
    nodes = {
        "a": {"name": "unanswered", "config": {"materialized": "continuous"}},
        "b": {"name": "unions", "config": {"materialized": "view"}},
    }
    (tmp_path / "target").mkdir()
    (tmp_path / "target/manifest.json").write_text(json.dumps({"nodes": nodes}))
    found = complete.get_completions(["explain"], "un")
    assert [item.value for item in found] == ["unanswered"]


def test_dialects_are_completed() -> None:
    complete = ShellComplete(commands, {}, "tapestry", "_TAPESTRY_COMPLETE")
    found = complete.get_completions(["eject", "--dialect"], "du")
    assert "duckdb" in [item.value for item in found]
    assert all(item.value.startswith("du") for item in found)


def test_sizes() -> None:
    assert [size_text(n) for n in (0, 1023, 34304, 5 * 2**40)] == [
        *("0 B", "1023 B", "33.5 KiB", "5.0 TiB")
    ]


def test_what_a_model_says_of_its_runs_goes_along_or_is_said_to_stay_behind() -> None:
    config = ModelConfig.parse(
        {
            "lag": "2 seconds",
            "begin": "2026-01-02T00:00:00.000001Z",
            "assume": ["r.ts >= m.ts"],
            "expectations": [{"name": "named", "expect": "id > 0", "on_violation": "drop"}],
        }
    )
    sql = "select m.id from messages m join messages r on r.parent = m.id"
    table = DeltaSource("messages", CATALOG.relations["messages"].columns, "", "")  # type: ignore[union-attr]
    relations = Relations(CATALOG, {"messages": Pinned(table, Pin("", 0))})
    model = Model("replied", "replied", sql, config, file="models/replied.sql")
    node = {"config": {"tags": ["mine"], "alias": "other"}, "description": "Replied to"}
    graph: dict[str, Any] = {"sources": {}, "nodes": {}}
    files = eject_files([Ejected(model, relations, node)], graph, "duckdb", "p")
    text = files["models/replied.sql"]
    assert "{%- set t = tapestry_t(2000000) -%}" in text
    assert "CAST('2026-01-02 00:00:00.000001+00:00' AS TIMESTAMPTZ) <= " in text
    assert text.count("UNION ALL") == 2, "a branch each: what is assumed is not checked here"
    assert "assume: r.ts >= m.ts is not made use of here." in text
    assert "The expectation named (drop) stays behind" in text
    assert "alias='other'" in text
    assert "tags=['mine']" in text
    micros = str(int(datetime(2026, 1, 2, tzinfo=timezone.utc).timestamp()) * 10**6 + 1)
    assert f"true, {micros})" in files["macros/replied_tests.sql"]
    assert "description: Replied to" in files["models/models.yml"]


@pytest.mark.parametrize(
    ("typed", "error"), [("y\n", None), ("n\n", click.Abort), ("", ConfigurationError)]
)
def test_nothing_is_forgotten_without_a_yes(typed: str, error: type[Exception] | None) -> None:
    raised: list[Exception] = []

    @click.command()
    def ask() -> None:
        try:
            confirm("Forget them?", as_json=True)
        except (click.Abort, ConfigurationError) as found:
            raised.append(found)
        click.echo("{}")

    result = CliRunner().invoke(ask, input=typed)
    assert [type(found) for found in raised] == ([error] if error else [])
    assert "Forget them?" in result.stderr
    assert result.stdout == "{}\n"
    if error is ConfigurationError:
        assert "--yes" in str(raised[0])


@pytest.mark.parametrize(
    ("text", "size"),
    [("1", 1), ("256MiB", 2**28), ("2 gb", 2 * 10**9), ("1k", 1024), ("16 GiB ", 2**34)],
)
def test_sizes_on_the_command_line(text: str, size: int) -> None:
    assert Size().convert(text, None, None) == size
    with pytest.raises(click.BadParameter, match="is no size"):
        Size().convert(f"-{text}", None, None)
