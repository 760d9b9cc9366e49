"""The adapter's small parts, without a Spark."""

from __future__ import annotations

import datetime as dt
import logging
import os
import stat
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import agate
import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.tapestry import embedded, jars
from dbt.adapters.tapestry.credentials import TapestryCredentials
from dbt.adapters.tapestry.delta_logs import DeltaLogs
from dbt.adapters.tapestry.failures import short_message
from dbt.adapters.tapestry.handle import literal
from dbt.adapters.tapestry.java import check_java
from dbt.adapters.tapestry.measure_reads import files_of, sizes_of
from dbt.adapters.tapestry.nodes import shown_model
from dbt.adapters.tapestry.seeds import seed_batches
from dbt.adapters.tapestry.settings import start_settings
from tapestry.folders import ivy_folder
from tapestry.runs.engine.session import Session
from tapestry.runs.run import run

JAVA_SH = Path(__file__).parents[2] / "tools" / "java.sh"


def _credentials(**given: object) -> TapestryCredentials:
    data = {"schema": "s", **given}
    TapestryCredentials.validate(TapestryCredentials.translate_aliases(data))
    return TapestryCredentials.from_dict(data)


def test_a_schema_is_enough() -> None:
    credentials = _credentials()
    assert credentials.embedded
    assert credentials.type == "tapestry"
    assert dict(credentials.connection_info()) == {
        "method": "session",
        "master": None,
        "keep_warm": None,
        "schema": "s",
    }
    assert credentials.warm_seconds is None


def test_how_long_spark_is_kept() -> None:
    assert _credentials(keep_warm="10 minutes").warm_seconds == 600
    assert _credentials(keep_warm="0s").warm_seconds is None
    with pytest.raises(DbtRuntimeError, match="keep_warm: 'a while' is not a length of time"):
        _ = _credentials(keep_warm="a while").warm_seconds


def test_the_profile_wins_over_ansi_off() -> None:
    assert _credentials().server_side_parameters["spark.sql.ansi.enabled"] == "false"
    given = {"spark.sql.ansi.enabled": True}
    credentials = _credentials(server_side_parameters=given)
    assert credentials.server_side_parameters["spark.sql.ansi.enabled"] == "true"


def test_settings_are_overridden_and_lists_extended(tmp_path: Path) -> None:
    given = {
        "spark.sql.extensions": "mine.Extension",
        "spark.driver.memory": "7g",
        "spark.driver.extraJavaOptions": "-Dmine=1",
    }
    settings = start_settings(given, tmp_path, "local[3]")
    assert settings["spark.sql.extensions"].startswith("io.delta.sql.DeltaSparkSessionExtension,")
    assert settings["spark.sql.extensions"].endswith("mine.Extension")
    assert settings["spark.driver.extraJavaOptions"].endswith(" -Dmine=1")
    assert settings["spark.driver.memory"] == "7g"
    assert settings["spark.master"] == "local[3]"
    assert settings["spark.sql.session.timeZone"] == "UTC"
    assert settings["spark.sql.warehouse.dir"] == str(tmp_path / "warehouse")


def test_what_helps_one_process_is_not_set_on_a_cluster(tmp_path: Path) -> None:
    only = {
        "spark.storage.blockManagerHeartbeatTimeoutMs",
        "spark.driver.bindAddress",
        "spark.buffer.pageSize",
    }
    here = start_settings({}, tmp_path, None)
    there = start_settings({}, tmp_path, "spark://host:7077")
    assert only <= here.keys()
    assert not only & there.keys()
    larger = {"spark.driver.memory": "64g"}  # of so much a task may want more than 8,192 pages
    given = start_settings(larger, tmp_path, None)
    assert "spark.buffer.pageSize" not in given


def test_jars_are_remembered_while_they_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    wanted = jars.packages()
    fetched = {"spark.jars.packages": wanted, "spark.jars.ivy": str(ivy_folder())}
    assert jars.jar_settings({}) == fetched
    given = {"spark.jars.ivy": str(tmp_path / "ivy")}
    assert jars.jar_settings(given) == {**fetched, **given}
    jar = tmp_path / "delta.jar"
    jar.touch()
    jars.remember(wanted, f"file://{jar}")
    assert jars.jar_settings({}) == {"spark.jars": str(jar)}
    jar.unlink()
    assert jars.jar_settings({}) == fetched


def test_a_list_of_jars_that_is_not_ours_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The jars are fetched anew, to a place that the list says nothing of."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    jar = tmp_path / "fetched" / "delta.jar"
    jar.parent.mkdir()
    jar.touch()
    jars.remember(jars.packages(), f"file://{jar}")
    assert jars.jar_settings({}) == {"spark.jars": str(jar)}
    (memory,) = (tmp_path / "dbt-tapestry").glob("jars-*.txt")
    memory.rename(tmp_path / "other")
    memory.symlink_to(tmp_path / "other")
    settings = jars.jar_settings({})
    assert "spark.jars" not in settings
    assert settings["spark.jars.ivy"] == str(tmp_path / "dbt-tapestry" / "ivy")


def _java(folder: Path, text: str) -> None:
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho '{text}' >&2\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('openjdk version "21" 2023-09-19', 21),
        ('Picked up JAVA_TOOL_OPTIONS: -Da="8"\nopenjdk version "17.0.15" 2025-04-15', 17),
        ('java version "1.8.0_412"', None),
        ('openjdk version "11.0.2" 2019-01-15', None),
        ("hello", None),
    ],
)
def test_java_is_17_or_21(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, found: int | None
) -> None:
    _java(tmp_path, text)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    if found:
        assert check_java() == found
        home = subprocess.run([JAVA_SH], capture_output=True, text=True, check=True).stdout
        assert home.strip() == str(tmp_path)
        return
    with pytest.raises(DbtRuntimeError) as error:
        check_java()
    assert "Spark needs Java 17 or 21" in str(error.value.msg)
    assert len(str(error.value.msg).splitlines()) == 2


def test_the_release_file_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _java(tmp_path, "never asked")
    (tmp_path / "release").write_text('IMPLEMENTOR="X"\nJAVA_VERSION="21.0.2"\n')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert check_java() == 21


def test_no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DbtRuntimeError, match="found none on PATH"):
        check_java()


@pytest.mark.parametrize(
    ("value", "sql"),
    [
        (None, "NULL"),
        (True, "true"),
        (2**60, "1152921504606846976"),
        (Decimal("0.10"), "'0.10'"),
        ("it's \\", "('it' || CAST(X'27' AS STRING) || 's ' || CAST(X'5C' AS STRING))"),
        (dt.date(2020, 2, 29), "'2020-02-29'"),
        (dt.datetime(2020, 2, 29, 1, 2, 3), "TIMESTAMP '2020-02-29 01:02:03'"),
    ],
)
def test_literals(value: object, sql: str) -> None:
    assert literal(value) == sql


def test_an_empty_seed_keeps_its_columns() -> None:
    table = agate.Table([], ["id", "na`me"], [agate.Number(), agate.Text()])
    (select,) = seed_batches(table, ["bigint", "string"])
    assert select.startswith("select cast(c0 as bigint) as `id`, cast(c1 as string) as `na``me`")
    assert select.endswith("where false")


def test_a_seed_holds_what_its_file_does() -> None:
    """Names and values as they are: no variable of Spark's, and nothing that ends a literal."""
    table = agate.Table(
        [[1, "${env:HOME}"], [2, "it's"], [None, "\\"]],
        ["id", "a -- b"],
        [agate.Number(), agate.Text()],
    )
    (select,) = seed_batches(table, ["bigint", "string"])
    assert "as `a -- b`" in select
    assert "('1', ('$' || '{env:HOME}'))" in select
    assert "('2', ('it' || CAST(X'27' AS STRING) || 's'))" in select
    assert "(cast(null as string), CAST(X'5C' AS STRING))" in select
    assert "${" not in select


class _Java:
    """A Java exception, as far as messages go."""

    def __init__(self, message: str | None, cause: _Java | None = None) -> None:
        self.message, self.cause = message, cause

    def getMessage(self) -> str | None:
        return self.message

    def getCause(self) -> _Java | None:
        return self.cause

    def getClass(self) -> _Java:
        return self

    def getSimpleName(self) -> str:
        return "NullPointerException"


def test_a_python_model_brings_no_warning_of_pandas_on_spark() -> None:
    """dbt-spark's frame around a Python model imports it; the user saw its warning in every run."""
    code = "from dbt.adapters.tapestry.log import hush_pyspark as h; h(); import pyspark.pandas"
    environment = {k: v for k, v in os.environ.items() if k != "PYARROW_IGNORE_TIMEZONE"}
    program = [sys.executable, "-W", "error::UserWarning", "-c", code]
    ended = subprocess.run(program, env=environment, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_messages_are_cut_to_what_matters() -> None:
    parse = "\n[PARSE_SYNTAX_ERROR] Syntax error at or near 'fro'. (line 1, pos 9)\n\n== SQL ==\n"
    text = parse + "select a fro t\n---------^^^\n"
    assert short_message(ValueError(text)).splitlines() == [
        "[PARSE_SYNTAX_ERROR] Syntax error at or near 'fro'. (line 1, pos 9)",
        "select a fro t",
        "---------^^^",
    ]
    plan = "[UNRESOLVED_COLUMN] no `a`; line 1 pos 7;\n'Project ['a]\n+- OneRowRelation\n"
    assert short_message(ValueError(plan)) == "[UNRESOLVED_COLUMN] no `a`; line 1 pos 7"
    tree = "[BAD] first line\nsecond line. SQLSTATE: 42K05;\nAddColumns [a]\n+- Table t\n"
    assert short_message(ValueError(tree)) == "[BAD] first line\nsecond line. SQLSTATE: 42K05"


def test_the_cause_with_an_error_class_is_told() -> None:
    error = ValueError("outer")
    cause = _Java("[DIVIDE_BY_ZERO] Division by zero.\n\tat org.apache.X(Y.scala:1)")
    error.java_exception = _Java("Job aborted due to stage failure", cause)  # type: ignore[attr-defined]
    assert short_message(error) == "[DIVIDE_BY_ZERO] Division by zero."
    error.java_exception = _Java(None)  # type: ignore[attr-defined]
    assert short_message(error) == "NullPointerException"


def test_files_are_told_from_what_spark_says_of_its_metrics() -> None:
    metrics = (
        "List(SQLPlanMetric(number of files read,12,sum), SQLPlanMetric(scan time,13,timing),"
        " SQLPlanMetric(number of files read,112,sum), SQLPlanMetric(number of files read,7,sum))"
    )
    times = "total (min, med, max (stageId: taskId))\n12 ms (1 ms, 5 ms, 6 ms (stage 3.0: task 7))"
    values = f"HashMap(112 -> 1,234, 13 -> {times}, 12 -> 5)"
    assert sum(files_of(metrics, values)) == 1_239


def test_sizes_are_told_in_all_the_ways_in_which_spark_writes_them() -> None:
    numbers = (12, 1, 112, 2)
    metrics = ", ".join(f"SQLPlanMetric(size of files read,{one},size)" for one in numbers)
    several = "total (min, med, max (stageId: taskId))\n1.5 KiB (0.0 B, 512.0 B, 1024.0 B (s: t))"
    values = f"HashMap(112 -> 818.9 MiB, 2 -> 0.0 B, 1 -> 1,023 B, 12 -> {several})"
    wanted = [1_536, 1_023, round(818.9 * 2**20), 0]
    assert list(sizes_of(f"List({metrics})", values)) == wanted


def test_a_log_that_cannot_be_asked_is_left_to_sql() -> None:
    """Spark Connect's client has no process of Spark's to ask."""
    assert DeltaLogs(SimpleNamespace()).newest("s.t") is None  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("message", "level"),
    [("[DELTA_CONCURRENT_DELETE_READ] OPTIMIZE", "DEBUG"), ("[INTERNAL_ERROR]", "WARNING")],
)
def test_of_two_that_merge_files_at_once_none_minds(
    caplog: pytest.LogCaptureFixture, message: str, level: str
) -> None:
    class Merging(Session):
        def rows(self, sql: str) -> list[tuple[Any, ...]]:
            return []

        def run(self, sql: str) -> None:
            if sql.startswith("OPTIMIZE") and "tapestry_state" in sql:
                raise RuntimeError(message)

    row = SimpleNamespace(generation="g", n=100)
    planned: Any = SimpleNamespace(model=SimpleNamespace(relation="s.m"), row=row)
    with caplog.at_level(logging.DEBUG, logger="tapestry"):
        run._tidy(Merging(), planned, SimpleNamespace(state_table="s.tapestry_state"))  # type: ignore[arg-type]
    (said,) = caplog.records
    assert (said.levelname, message in said.getMessage()) == (level, True)


def _graph(**said: str | None) -> dict[str, Any]:
    """Sources that all name one table, each with what it says of its rows' arrival."""
    return {
        "nodes": {"model.v": {"depends_on": {"nodes": ["source.b"]}, "config": {}}},
        "sources": {
            f"source.{name}": {"relation_name": "`s`.`M`", "loaded_at_field": column}
            for name, column in said.items()
        },
    }


@pytest.mark.parametrize(
    ("above", "arrivals"),
    [
        (["source.a"], ("ts",)),
        (["source.b"], ("seen",)),
        (["source.a", "source.b"], ("seen", "ts")),
        (["source.a", "model.v"], ("seen", "ts")),
        (["model.v"], ("seen",)),
        (["source.a", "source.quiet", "source.same"], ("ts",)),
        ([], ("seen", "ts")),
    ],
)
def test_of_entries_for_one_table_those_that_the_model_reads_count(
    above: list[str], arrivals: tuple[str, ...]
) -> None:
    graph = _graph(a="ts", b="seen", quiet=None, same="`TS`")
    node = {"name": "m", "depends_on": {"nodes": above}}
    assert shown_model(node, graph, "select 1").arrivals == {"s.m": arrivals}


def test_a_user_without_a_name_is_told_so(tmp_path: Path) -> None:
    """As in a container that runs as a number; Hadoop's own words are a NullPointerException's."""
    log = tmp_path / "spark.log"
    log.write_text("java.lang.NullPointerException: invalid null input: name\n\tat x\n")
    assert "/etc/passwd" in embedded._cause(log)
    log.write_text("")
    assert embedded._cause(log) == "the JVM ended before it was up."
