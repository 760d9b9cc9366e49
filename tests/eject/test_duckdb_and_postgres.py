"""Ejected models in DuckDB and PostgreSQL, run by dbt: the tables that the adapter's runs give."""

from __future__ import annotations

import importlib.util
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Protocol

import pytest
from tests.eject.board import (
    BATCHES,
    MODELS,
    WINDOWS,
    WRITERS,
    as_texts,
    columns_of,
    expected,
    literal,
    rows_sql,
)
from tests.eject.plain import PlainProject
from tests.marks import more


class Engine(Protocol):
    """Where the ejected models live: SQL in, rows out, and its dbt profile."""

    dialect: str
    instant: str
    micros: str

    def output(self) -> dict[str, Any]: ...

    def rows(self, sql: str) -> list[tuple[Any, ...]]: ...

    def run(self, sql: str) -> None: ...


class Duck:
    dialect, instant, micros = "duckdb", "TIMESTAMPTZ", "epoch_us(_matched_at)"

    def __init__(self, folder: Path) -> None:
        self.path = folder / "store.duckdb"

    def output(self) -> dict[str, Any]:
        return {"type": "duckdb", "path": str(self.path), "schema": "board", "threads": 1}

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        import duckdb

        with duckdb.connect(str(self.path)) as connection:  # dbt wants the file for itself
            return connection.execute(sql).fetchall()

    def run(self, sql: str) -> None:
        self.rows(sql)


class Postgres:
    dialect, instant = "postgres", "TIMESTAMPTZ"
    micros = "cast(extract(epoch from _matched_at) * 1000000 as bigint)"

    def __init__(self, socket: Path) -> None:
        self.socket = socket

    def output(self) -> dict[str, Any]:
        return {
            **{"type": "postgres", "host": str(self.socket), "user": "dbt", "password": "none"},
            **{"port": 5432, "dbname": "postgres", "schema": "board", "threads": 2},
        }

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return self._execute(sql, fetch=True)

    def run(self, sql: str) -> None:
        self._execute(sql, fetch=False)

    def _execute(self, sql: str, fetch: bool) -> list[tuple[Any, ...]]:
        import psycopg2

        connection = psycopg2.connect(host=str(self.socket), user="dbt", dbname="postgres")
        try:
            with connection, connection.cursor() as cursor:
                cursor.execute(sql)
                return cursor.fetchall() if fetch else []
        finally:
            connection.close()


@pytest.fixture(params=["duckdb", more("postgres")])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Engine:
    if importlib.util.find_spec(f"dbt.adapters.{request.param}") is None:
        pytest.skip(f"dbt-{request.param} is not installed")
    if request.param == "duckdb":
        return Duck(tmp_path)
    return Postgres(request.getfixturevalue("postgres"))


def held(engine: Engine, name: str) -> Counter[tuple[str, ...]]:
    """What stands in a model's table."""
    return as_texts(engine.rows(f"select {columns_of(name)}, {engine.micros} from board.{name}"))


def fill(engine: Engine) -> None:
    """The empty board and its authors."""
    engine.run("drop schema if exists board cascade")
    engine.run("create schema board")
    engine.run(
        "create table board.messages (id int, parent int, author text,"
        f" due {engine.instant}, ts {engine.instant})"
    )
    values = ", ".join(f"({literal(author)}, {level})" for author, level in WRITERS)
    engine.run("create table board.authors (author text, level int)")
    engine.run(f"insert into board.authors values {values}")


def add(engine: Engine, rows: Iterable[tuple[Any, ...]]) -> None:
    engine.run(f"insert into board.messages values {rows_sql(rows, engine.instant)}")


@pytest.mark.more
def test_the_same_tables_over_the_same_windows(engine: Engine, tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    project = PlainProject(root, engine.dialect, engine.output())
    fill(engine)
    for batch, as_of in zip(BATCHES, WINDOWS, strict=True):
        add(engine, batch)
        # at last with the models' own tests of enough and not too much
        project.dbt(as_of, "build" if as_of == WINDOWS[-1] else "run")
    wanted = expected()
    assert set(wanted) == set(MODELS)
    for name in MODELS:
        assert held(engine, name) == wanted[name], name

    # once more, at the same instant: nothing comes twice
    project.dbt(WINDOWS[-1], "run")
    assert {name: held(engine, name) for name in MODELS} == wanted
    # in one window, from nothing
    project.dbt(WINDOWS[-1], "run", "--full-refresh")
    assert {name: held(engine, name) for name in MODELS} == wanted

    # the tests of the models notice
    engine.run("delete from board.replies where reply = 3")
    engine.run("insert into board.quiet select 77, _matched_at from board.quiet limit 1")
    output = project.dbt(WINDOWS[-1], "test", fails=True)
    failed = {line for line in output.splitlines() if " FAIL " in line}
    assert sum("replies_enough_replies" in line for line in failed) == 1, failed
    assert sum("quiet_not_too_much_quiet" in line for line in failed) == 1, failed
    assert len(failed) == 2, failed
