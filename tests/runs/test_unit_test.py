"""The text of a unit test is taken apart, and put together again, without a change of the query."""

from __future__ import annotations

from datetime import datetime, timezone

import duckdb
import pytest
import sqlglot

from tapestry.errors import Refusal
from tapestry.runs.query.answer_as_of import clock_only
from tapestry.runs.query.unit_test import UnitTest

S = datetime(2026, 2, 1, tzinfo=timezone.utc)
ROWS = "\n-- Fixture for m\n\nselect 1 as id, timestamp'2026-01-01 00:00:00' as ts\n"
WHERE = "where now() >= __dbt__cte__m.ts + interval 3 days"

QUERIES = {
    "one given": (f"with  __dbt__cte__m as (\n{ROWS}\n) select id from __dbt__cte__m {WHERE}", 1),
    "two given": (
        f"with  __dbt__cte__m as (\n{ROWS}\n),  __dbt__cte__S__r as (select ')' as id limit 0)"
        f"\n\nselect __dbt__cte__m.id from __dbt__cte__m left join __DBT__cte__s__r r on true"
        f" {WHERE}",
        1,
    ),
    "a WITH of the model's": (
        f"with  __dbt__cte__m as (\n{ROWS}\n), a as (select * from __dbt__cte__m)"
        " select id from a where now() > ts",
        1,
    ),
    "before the instant": (
        f"with __dbt__cte__m as ({ROWS}) select id from __dbt__cte__m where now() < ts",
        0,
    ),
    "given by the clock": (
        "with __dbt__cte__m as (select 1 as id, now() as ts) select id from __dbt__cte__m"
        " where ts = now()",
        1,
    ),
    "nothing given": ("select 1 as id where now() < timestamp'2026-03-01 00:00:00'", 1),
}


@pytest.mark.parametrize("name", QUERIES)
def test_the_clock_is_the_instant(name: str) -> None:
    sql, count = QUERIES[name]
    asked = UnitTest.read(sql).at(S)
    assert "now()" not in asked.lower()
    database = duckdb.connect()
    database.execute("SET TimeZone = 'UTC'")
    (statement,) = sqlglot.transpile(asked, read="spark", write="duckdb")
    assert len(database.execute(statement).fetchall()) == count


def test_the_tables_stand_where_the_given_rows_stood() -> None:
    test = UnitTest.read(QUERIES["two given"][0])
    assert test.names == ("m", "s__r")
    text = test.over({"m": "`db`.`m`", "s__r": "db.r"})
    assert " ".join(text.split()) == (
        "select `db`.`m`.id from `db`.`m` left join db.r r on true"
        " where now() >= `db`.`m`.ts + interval 3 days"
    )


def test_a_query_that_cannot_be_read_is_not_asked_by_another_clock() -> None:
    given = f"with __dbt__cte__m as ({ROWS}) "
    with pytest.raises(Refusal):
        UnitTest.read(
            given + "select x from __dbt__cte__m lateral view json_tuple(a, 'b') e as x"
        ).at(S)
    rows = "with __dbt__cte__m as (select * from values (1) as v(id)) select id from __dbt__cte__m"
    assert "VALUES" in UnitTest.read(rows).at(S).upper()


@pytest.mark.parametrize(
    ("sql", "warned"),
    [
        ("select now() as s", False),
        ("select x from t lateral view json_tuple(a, 'b') e as x", False),
        ("select x from t lateral view json_tuple(a, 'b') e as x where now() > x", True),
        ("select CURRENT_DATE as d, x from t lateral view json_tuple(a, 'b') e as x", True),
    ],
)
def test_a_clock_that_stays_the_real_one_is_said(sql: str, warned: bool) -> None:
    asked = clock_only(sql, S)
    assert bool(asked.warning) == warned
    assert (asked.sql == sql) == ("lateral" in sql)
    assert clock_only(sql, None).sql == sql
