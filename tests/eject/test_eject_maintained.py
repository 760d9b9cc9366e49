"""Maintained models in plain dbt: exact over any life of their sources, or refused in words."""

from __future__ import annotations

import random
from collections import Counter
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import duckdb
import jinja2
import pytest
from tests.eject.maintained import MODELS, compiled, ejected, maintained_files
from tests.eject.plain import PlainProject

from tapestry.cli.eject_maintained import MergedGroups
from tapestry.errors import ConfigurationError
from tapestry.sql import Rewriting

BEGAN = datetime(2026, 1, 1, tzinfo=timezone.utc)
GROUPED = {"totals": "shop, sort", "extremes": "kind", "named": "number"}
COLUMNS = "id bigint, shop text, kind int, amount decimal(10,2), ts timestamptz"


def _rows(rng: random.Random, after: datetime, until: datetime) -> list[tuple[Any, ...]]:
    """Rows that come in (after, until], with NULLs, ties and copies."""
    span = int((until - after) / timedelta(hours=1))
    found = []
    for _ in range(rng.randint(0, 6)):
        ts = None if rng.random() < 0.1 else after + timedelta(hours=rng.randint(1, span))
        shop, kind = rng.choice(["a", "b", "c", None]), rng.choice([1, 2, 3, None])
        found.append((rng.randint(1, 9), shop, kind, rng.randint(0, 9), ts))
    return found + found[: rng.randint(0, 1)]


def _insert(connection: Any, table: str, rows: list[tuple[Any, ...]]) -> None:
    for row in rows:
        connection.execute(f"insert into shop.{table} values (?, ?, ?, ?, ?)", row)


def _made(connection: Any) -> None:
    connection.execute("set timezone = 'UTC'; create schema shop")
    for table in ("orders", "refunds"):
        connection.execute(f"create table shop.{table} ({COLUMNS})")


def _wanted(name: str, t: datetime) -> str:
    """Q(t) by the definition, written by hand."""
    sql = compiled(MODELS[name])
    for table in ("orders", "refunds"):
        rows = f"(select * from shop.{table} where ts <= timestamptz '{t.isoformat()}')"
        sql = sql.replace(f"from shop.{table} where", f"from {rows} as o where")
        sql = sql.replace(f"from shop.{table} o", f"from {rows} o")
        sql = sql.replace(f"join shop.{table} r", f"join {rows} r")
        sql = sql.replace(f"from shop.{table}", f"from {rows}")
    sql = sql.replace("interval 2 days", "interval '2 days'")
    return sql.replace("now()", f"timestamptz '{t.isoformat()}'")


def _bag(rows: list[tuple[Any, ...]]) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(map(str, row)) for row in rows)


def _compare(connection: Any, name: str, t: datetime) -> None:
    """Compare the table with the query, as bags."""
    held = connection.execute(f"select * exclude (_matched_at) from shop.{name}").fetchall()
    assert _bag(held) == _bag(connection.execute(_wanted(name, t)).fetchall()), (name, t)


def _run(connection: Any, name: str, text: str, t: datetime) -> None:
    """One run of dbt's incremental materialization."""
    exists = bool(connection.execute(
        f"select 1 from information_schema.tables where table_name = '{name}'"
    ).fetchall())  # fmt: skip

    def tau(_: str) -> str | None:
        ((latest,),) = connection.execute(f"select max(_matched_at) from shop.{name}").fetchall()
        return None if latest is None else str(latest.isoformat())

    sql = jinja2.Environment().from_string(text).render(
        config=lambda **_: "", is_incremental=lambda: exists, tapestry_t=lambda: t.isoformat(),
        tapestry_tau=tau, this=f"shop.{name}", source=lambda schema, table: f"{schema}.{table}",
    )  # fmt: skip
    if not exists:
        connection.execute(f"create table shop.{name} as {sql}")
        return
    connection.execute(f"create or replace temp table came as {sql}")
    if name in GROUPED:
        keys = GROUPED[name]
        connection.execute(f"delete from shop.{name} where ({keys}) in (select ({keys}) from came)")
    connection.execute(f"insert into shop.{name} select * from came")


@pytest.mark.parametrize("seed", range(3))
def test_any_life_of_the_sources_gives_what_is_recomputed(seed: int) -> None:
    rng = random.Random(seed)
    files = maintained_files("duckdb")
    with duckdb.connect() as connection:
        _made(connection)
        t = BEGAN
        for _ in range(12):
            before, t = t, t + timedelta(hours=rng.choice([1, 5, 30]))
            for table in ("orders", "refunds"):
                _insert(connection, table, _rows(rng, before, t))
            for name in MODELS:
                _run(connection, name, files[f"models/{name}.sql"], t)
                _compare(connection, name, t)


def test_which_class_a_query_is_of() -> None:
    ways = {name: ejected(name, compiled(text)).way for name, text in MODELS.items()}
    assert {name for name, way in ways.items() if isinstance(way, MergedGroups)} == GROUPED.keys()
    assert all(isinstance(way, Rewriting) for name, way in ways.items() if name not in GROUPED)
    narrowed = {name for name, way in ways.items() if isinstance(way, MergedGroups) and way.carried}
    assert narrowed == {"totals", "extremes"}, "where the key is computed all rows are grouped"


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("select shop, count(*) as n from shop.orders group by shop", "shop may be NULL"),
        ("select count(*) as n from shop.orders", "no GROUP BY"),
        ("select shop, n from (select shop, kind, count(*) as n from shop.orders where shop is not"
         " null and kind is not null group by shop, kind) group by shop, n",
         "groups what"),
        ("select kind from shop.orders where kind is not null group by kind having count(*) = 1",
         "HAVING"),
        ("select count(*) as n from shop.orders where kind is not null group by kind",
         "does not show it"),
        ("select kind + 1 as k, count(*) as n from shop.orders group by kind + 1", "is no column"),
        ("select kind, count(*) as n from (select kind from shop.orders) where kind is not null"
         " group by kind", "not in reach"),
        ("select o.kind, count(*) as n from shop.orders o join shop.refunds r on r.id = o.id where"
         " o.kind is not null group by o.kind", "more than one table"),
        ("select kind, count(*) as n from shop.orders o where kind is not null and exists (select 1"
         " from shop.orders r where r.id > o.id) group by kind", "more than one table, or one"),
        ("select kind, count(*) as n from shop.orders where kind is not null and ts > now() -"
         " interval 1 day group by kind", "reads the clock"),
        ("select id from shop.orders where now() < ts + interval 1 day", "no GROUP BY"),
        ("select o.id from shop.orders o left join shop.refunds r on r.id = o.id where r.id is"
         " null", "more than one table"),
        ("select id, now() as at from shop.orders", "at shows the clock"),
        ("select id as _matched_at from shop.orders", "this model will have of its own"),
        ("select id, rand() as r from shop.orders", "plain dbt cannot keep exactly"),
        ("select least from (select kind, min(ts) as least from shop.orders group by kind)",
         "plain dbt cannot keep exactly"),
    ],
)  # fmt: skip
def test_what_plain_dbt_cannot_keep_is_refused_for_a_reason(sql: str, why: str) -> None:
    with pytest.raises(ConfigurationError, match=why) as raised:
        ejected("m", sql)
    assert "give it materialized='table' there" in str(raised.value)


@pytest.mark.parametrize(
    ("properties", "arrival", "why"),
    [
        ({}, "ts", "may be updated or deleted"),
        ({"delta.appendOnly": "false"}, "ts", "may be updated or deleted"),
        (None, None, "does not say when its rows arrive"),
    ],
)
def test_a_source_says_that_it_is_only_added_to(
    properties: dict[str, str] | None, arrival: str | None, why: str
) -> None:
    with pytest.raises(ConfigurationError, match=why):
        ejected("large", compiled(MODELS["large"]), properties, arrival)


@pytest.mark.more
def test_dbt_keeps_them_in_duckdb(tmp_path: Path) -> None:
    path = tmp_path / "store.duckdb"
    output = {"type": "duckdb", "path": str(path), "schema": "shop", "threads": 1}
    files = maintained_files("duckdb")
    (tmp_path / "p").mkdir()
    project = PlainProject(tmp_path / "p", "duckdb", output, files)
    rng, t = random.Random(7), BEGAN
    with duckdb.connect(str(path)) as connection:
        _made(connection)
    for last in (False, False, True):
        before, t = t, t + timedelta(days=1)
        with duckdb.connect(str(path)) as connection:
            for table in ("orders", "refunds"):
                _insert(connection, table, [r for _ in range(3) for r in _rows(rng, before, t)])
        project.dbt(t.isoformat(), "build" if last else "run")
        with duckdb.connect(str(path)) as connection:
            connection.execute("set timezone = 'UTC'")
            for name in MODELS:
                _compare(connection, name, t)
    with duckdb.connect(str(path)) as connection:
        connection.execute("update shop.totals set n = n + 1")
    assert "totals_is_the_answer" in project.dbt(t.isoformat(), "test", fails=True)
