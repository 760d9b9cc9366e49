"""Solved time atoms against their definition, executed in DuckDB; refusals of the others."""

from __future__ import annotations

import duckdb
import pytest
from tests.sql.database import in_utc
from tests.sql.instants import ROWS, disagreements, instants
from tests.sql.time_atoms import DUCKDB_TOO, conditions_at_s

from tapestry.errors import Refusal


@pytest.fixture(scope="module")
def database() -> duckdb.DuckDBPyConnection:
    connection = in_utc()
    connection.execute(f"CREATE TABLE t AS {ROWS.replace('TIMESTAMP', 'TIMESTAMPTZ')}")
    values = ", ".join(f"('{text}')" for text in instants())
    connection.execute(
        "CREATE TABLE i AS SELECT CAST(v.s || '+00:00' AS TIMESTAMPTZ) AS s "
        f"FROM (VALUES {values}) v(s)"
    )
    return connection


@pytest.mark.parametrize("text", DUCKDB_TOO)
def test_solution_is_the_definition(database: duckdb.DuckDBPyConnection, text: str) -> None:
    atom, solved = conditions_at_s(text)
    texts = {wanted: node.sql("duckdb") for wanted, node in solved.items()}
    columns = disagreements(atom.sql("duckdb"), texts)
    result = database.execute(f"SELECT {columns} FROM t CROSS JOIN i").fetchone()
    assert result is not None
    assert result[:3] == (0, 0, 0), texts
    assert result[3] > 0
    assert result[4] > 0


@pytest.mark.parametrize(
    "text",
    [
        "hour(now()) = 9",
        "now() - interval 1 month > ts",
        "months_between(now(), ts) > 2",
        "current_date() + interval 3 hours - interval 1 month > ts",
        "current_date() - interval '1 month 2 days' > d",
        "timestampdiff(month, ts, now()) > 1",
        "now() > now() - interval 1 hour",
        "now() > n",
        "dayofweek(current_date()) = 2",
        "date_format(now(), 'yyyy') = '2026'",
        "interval 1 month - current_date() > d",
        "date_add(last_day(current_date()), dayofmonth(current_date())) > d",
        "add_months(current_date(), dayofmonth(current_date())) > d",
        "current_date() - year(now()) * interval 1 month > d",
        "date_add(current_date(), dayofmonth(current_date())) > d",
        "timestampadd(hour, hour(now()), now()) > ts",
        "timestampadd(month, month(now()), current_date()) > ts",
        "greatest(now(), ts) > due",
        "now() - interval '1 day 2 months' > ts",
        "now() - cast('1' as interval month) > ts",
        "now() - n > interval 1 day",
        "current_date() - d > 1",
        "unix_timestamp(now()) * 2 > n",
    ],
)
def test_what_is_not_monotone_is_refused(text: str) -> None:
    with pytest.raises(Refusal) as caught:
        conditions_at_s(text)
    assert caught.value.where
    assert caught.value.hint
    assert len(str(caught.value).splitlines()) <= 5
