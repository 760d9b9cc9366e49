"""The adapter itself over the board's windows; `tapestry eject`; and plain dbt-spark on that.

TAPESTRY_WRITE_EXPECTED=1 writes what the adapter's tables hold, after a wanted change of the board.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from dbt.cli.main import dbtRunner
from tests.command import tapestry
from tests.eject.board import (
    BATCHES,
    EXPECTED,
    MODELS,
    WINDOWS,
    WRITERS,
    as_texts,
    columns_of,
    ejected_files,
    expected,
    literal,
    rows_sql,
)

SOURCES = {
    "version": 2,
    "sources": [
        {
            "name": "board",
            "schema": "board",
            "tables": [
                {"name": "messages", "config": {"loaded_at_field": "ts"}},
                {"name": "authors", "config": {"meta": {"arrival": "static"}}},
            ],
        }
    ],
}


@pytest.fixture(scope="module")
def spark(embedded_spark: Any) -> Any:
    return embedded_spark


@pytest.fixture(scope="module")
def board(spark: Any) -> Iterator[Callable[[], None]]:
    """Makes the board empty."""

    def empty() -> None:
        spark.sql("drop table if exists board.messages")
        spark.sql(
            "create table board.messages (id int, parent int, author string, due timestamp,"
            " ts timestamp) using delta"
        )

    spark.sql("create schema board")
    spark.sql("create schema plain")
    spark.sql("create table board.authors (author string, level int) using delta")
    values = ", ".join(f"({literal(author)}, {level})" for author, level in WRITERS)
    spark.sql(f"insert into board.authors values {values}")
    yield empty
    spark.sql("drop schema board cascade")
    spark.sql("drop schema plain cascade")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The board's continuous models in a dbt project."""
    root = tmp_path_factory.mktemp("project")
    (root / "models").mkdir()
    for name, text in MODELS.items():
        (root / f"models/{name}.sql").write_text(text)
    (root / "models/sources.yml").write_text(yaml.safe_dump(SOURCES))
    configuration = {
        "name": "board",
        "profile": "board",
        "flags": {"send_anonymous_usage_stats": False},
    }
    models = {"models": {"board": {"+materialized": "continuous"}}}
    (root / "dbt_project.yml").write_text(yaml.safe_dump({**configuration, **models}))
    output = {"type": "tapestry", "method": "session", "schema": "board", "threads": 1}
    write_profile(root, "board", output)
    return root


def write_profile(root: Path, name: str, output: dict[str, Any]) -> None:
    profile = {name: {"target": "x", "outputs": {"x": output}}}
    (root / "profiles.yml").write_text(yaml.safe_dump(profile))


def dbt(root: Path, as_of: str, *arguments: str) -> None:
    """One dbt command at an instant, in this process: a process has one Spark."""
    os.environ["TAPESTRY_AS_OF"] = as_of
    try:
        places = ["--project-dir", str(root), "--profiles-dir", str(root)]
        outcome = dbtRunner().invoke([*arguments, *places])
    finally:
        del os.environ["TAPESTRY_AS_OF"]
    failed = [] if outcome.result is None else [r.message for r in outcome.result if r.failures]
    assert outcome.success, (outcome.exception, failed)


def held(spark: Any, schema: str, name: str) -> Counter[tuple[str, ...]]:
    columns = f"{columns_of(name)}, unix_micros(_matched_at)"
    return as_texts(
        tuple(row) for row in spark.sql(f"select {columns} from {schema}.{name}").collect()
    )


@pytest.fixture(scope="module")
def adapters_tables(
    spark: Any, board: Callable[[], None], project: Path
) -> dict[str, Counter[tuple[str, ...]]]:
    """What the adapter's runs over the windows give."""
    board()
    for batch, as_of in zip(BATCHES, WINDOWS, strict=True):
        spark.sql(f"insert into board.messages values {rows_sql(batch, 'timestamp')}")
        dbt(project, as_of, "run")
    return {name: held(spark, "board", name) for name in MODELS}


def test_what_the_other_engines_are_compared_with(
    adapters_tables: dict[str, Counter[tuple[str, ...]]],
) -> None:
    if os.environ.get("TAPESTRY_WRITE_EXPECTED"):
        texts = {name: sorted(rows.elements()) for name, rows in sorted(adapters_tables.items())}
        lines = [f" {json.dumps(name)}: {json.dumps(rows)}" for name, rows in texts.items()]
        EXPECTED.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    assert adapters_tables == expected()
    assert all(adapters_tables.values()), "a model without any answer shows nothing"


@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "spark"])
def test_the_command_writes_the_files_that_were_tried(
    adapters_tables: object, project: Path, tmp_path: Path, dialect: str
) -> None:
    places = ["--project-dir", str(project), "--profiles-dir", str(project)]
    options = ["--dialect", dialect, "--into", str(tmp_path), "--json"]
    done = tapestry("eject", *options, *places)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["models"] == sorted(MODELS)
    written = {
        str(path.relative_to(tmp_path)): path.read_text()
        for path in tmp_path.rglob("*")
        if path.is_file()
    }
    assert written == ejected_files(dialect)


def test_plain_dbt_spark(
    spark: Any,
    board: Callable[[], None],
    adapters_tables: dict[str, Counter[tuple[str, ...]]],
    tmp_path: Path,
) -> None:
    for name, text in ejected_files("spark").items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    output = {"type": "spark", "method": "session", "host": "none", "schema": "plain", "threads": 1}
    write_profile(tmp_path, "ejected_spark", output)
    board()
    for batch, as_of in zip(BATCHES, WINDOWS, strict=True):
        spark.sql(f"insert into board.messages values {rows_sql(batch, 'timestamp')}")
        dbt(tmp_path, as_of, "build" if as_of == WINDOWS[-1] else "run")
    for name in MODELS:
        assert held(spark, "plain", name) == adapters_tables[name], name
