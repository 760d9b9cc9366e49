"""What stands in an ejected project."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import duckdb
import pytest
from jinja2 import Environment
from sqlglot import parse_one
from tests.eject.board import MODELS, ejected_files
from tests.sql.test_pairs import CATALOG

from tapestry.cli.eject import known_dialect
from tapestry.cli.eject_files import Ejected, eject_files
from tapestry.cli.eject_macros import test_macros as macros_of_tests
from tapestry.runs.kinds.registry import parse_config
from tapestry.runs.model.model import Model
from tapestry.runs.query.relations import Relations
from tapestry.runs.sources.describe import DeltaSource
from tapestry.runs.sources.pins import Pin, Pinned


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


ODD = ("Ab", "a b", "order", 'x"y', "a`b", "it's", "q}}", "user", "a\\b", "é")


@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "spark", "snowflake"])
def test_the_tests_quote_the_columns_as_the_dialect_has_them(dialect: str) -> None:
    """`order` is a keyword, and `user` whoever asks: unquoted they are no columns."""
    named = [name if name == "Ab" else "`" + name.replace("`", "``") + "`" for name in ODD]
    items = ", ".join(f"m.id + {at} as {name}" for at, name in enumerate(named))
    sql = f"select {items} from messages m where now() >= m.ts + interval 1 day"
    table = DeltaSource("messages", CATALOG.relations["messages"].columns, "", "")  # type: ignore[union-attr]
    relations = Relations(CATALOG, {"messages": Pinned(table, Pin("", 0))})
    model = Model("odd", "odd", sql, parse_config("continuous", {}), file="models/odd.sql")
    graph: dict[str, Any] = {"sources": {}, "nodes": {}}
    files = eject_files([Ejected(model, relations, {"config": {}})], graph, dialect, "p")
    text = files["macros/odd_tests.sql"]
    columns = Environment().from_string(
        "{% set missing = "
        + text.partition("tapestry_missing(model, ")[2].partition(", checked")[0]
        + " %}{{ missing | join(', ') }}"
    )
    listed = columns.render()
    read = [one.this for one in parse_one(f"select {listed}", read=dialect).selects]
    fold = str.upper if dialect == "snowflake" else str.lower
    plain = ("Ab", "order", "user")
    assert [one.name for one in read] == [fold(one) if one in plain else one for one in ODD]
    assert all(one.args["quoted"] for one in read)
    if dialect == "duckdb":
        answer = text.partition("_answer(s) %}")[2].partition("{% endmacro %}")[0]
        answer = Environment().from_string(answer).render(s="2026-02-01")
        with duckdb.connect() as database:
            typed = "id int, parent int, author text, due timestamp, ts timestamp"
            database.execute(f"create table messages ({typed})")
            database.execute("insert into messages values (7, 1, 'a', null, '2026-01-01')")
            rows = database.execute(f"select {listed} from ({answer})").fetchall()
        assert rows == [tuple(range(7, 7 + len(ODD)))]


def test_what_a_model_says_of_its_runs_goes_along_or_is_said_to_stay_behind() -> None:
    config = parse_config(
        "continuous",
        {
            "lag": "2 seconds",
            "begin": "2026-01-02T00:00:00.000001Z",
            "assume": ["r.ts >= m.ts"],
            "expectations": [{"name": "named", "expect": "id > 0", "on_violation": "drop"}],
        },
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
