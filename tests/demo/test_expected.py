"""What DuckDB is told to expect of each model is Q_M, by brute force: Q(s) at every event s.

And the rewritten models, run over the same steps in DuckDB, deliver just that.
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import duckdb
import pytest

from tapestry.demo.archive import EXPECTED, TABLES, Archive
from tapestry.demo.tables import TABLE_TYPES
from tapestry.sql import Catalog, Column, Scan, Source, Window, rewrite

from .archives import MODELS, model_sql, small_archive


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Archive:
    return small_archive(tmp_path_factory.mktemp("archive"))


def _make_instants(database: duckdb.DuckDBPyConnection, end: str) -> None:
    """Every instant at which an answer can begin: arrivals and the models' bounds."""
    events = [f"select arr as s from due.{name}" for name in TABLES]
    events.append("select when_to_remind from due.reminders")
    for days in (0, 14, 21, 28, 30):
        events += [f"select {at} + interval {days} days from due.messages" for at in ("ts", "date")]
    database.execute(
        "create or replace table due.instants as select distinct s from ("
        "  select s + interval (step) microsecond as s"
        f"  from ({' union all '.join(events)}), (values (0), (1)) steps(step)"
        f") where s <= timestamptz '{end}'"
    )


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("at_once", [False, True], ids=["late rows", "at once"])
def test_expected_is_the_union_of_the_static_answers(
    archive: Archive, model: str, at_once: bool
) -> None:
    expected = archive.expect(model, at_once=at_once)
    _make_instants(archive.database, archive.steps[-1].isoformat())
    visible = "(select * from due.{name} x where x.arr <= i.s)"
    answer = model_sql(model, dict(archive.variables), visible).replace("now()", "i.s")
    brute = (
        "select * exclude (s), min(s) as _matched_at from ("
        f"select i.s, q.* from due.instants i, lateral ({answer}) q"
        ") group by all"
    )
    database = archive.database
    wanted = database.execute(f"from ({brute}) order by all").fetchall()
    assert database.execute(f"from {expected} order by all").fetchall() == wanted
    assert wanted, "a model without an answer proves nothing"


@pytest.mark.parametrize("model", MODELS)
def test_rewritten_models_deliver_it_step_by_step(archive: Archive, model: str) -> None:
    expected = archive.expect(model)
    catalog = Catalog(
        {
            f"due.{name}": Source(
                f"due.{name}", tuple(Column(c, kind.lower()) for c, kind in types.items()), "ts"
            )
            for name, types in TABLE_TYPES.items()
        }
    )
    rewriting = rewrite(model_sql(model, dict(archive.variables), "due.{name}"), catalog)
    found = []
    for number, until in enumerate(archive.steps):
        scans = {
            f"due.{name}": Scan(
                f"(select * from main.{name} where step <= {number + 1})", "arr", "rid", late=True
            )
            for name in TABLES
        }
        window = Window(archive.steps[number - 1] if number else None, until)
        found += archive.database.execute(
            rewriting.incremental(window, scans, dialect="duckdb")
        ).fetchall()
    wanted = archive.database.execute(f"from {expected}").fetchall()
    assert sorted(found, key=repr) == sorted(wanted, key=repr)


def test_each_model_has_an_expectation() -> None:
    assert {path.stem for path in EXPECTED.glob("*.sql")} == set(MODELS)


def test_some_rows_are_late(archive: Archive) -> None:
    late = sum(archive.late_rows(step) for step in range(1, len(archive.steps) + 1))
    assert late > 0
    arrived = archive.database.execute(
        "select min(arr - ts), max(arr - ts) from main.messages where arr <> ts"
    ).fetchone()
    assert arrived is not None
    assert timedelta(0) < arrived[0] <= arrived[1]


def test_every_row_is_loaded_once(archive: Archive, tmp_path: Path) -> None:
    for name in TABLES:
        written = [
            archive.write_step(name, step, tmp_path / "rows.parquet")
            for step in range(1, len(archive.steps) + 1)
        ]
        assert sum(written) == archive.number(f"select count(*) from main.{name}")
