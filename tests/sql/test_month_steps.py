"""Steps in months over dates, against their definition at every day over two leap years' ends."""

from __future__ import annotations

import duckdb
import pytest
from sqlglot import exp
from sqlglot.optimizer.annotate_types import annotate_types
from tests.sql.database import in_utc
from tests.sql.time_atoms import truth_at_s
from tests.sql.truths import solve

from tapestry.errors import Refusal
from tapestry.sql.facts.expressions import number, typed
from tapestry.sql.facts.month_steps import months_reach
from tapestry.sql.read.parse import parse

DAYS = "generate_series(DATE '2023-12-20', DATE '2025-03-05', INTERVAL 1 DAY)"
COUNTS = (-25, -24, -13, -12, -11, -2, -1, 0, 1, 2, 3, 11, 12, 48)


@pytest.fixture(scope="module")
def database() -> duckdb.DuckDBPyConnection:
    connection = in_utc()
    connection.execute(
        f"CREATE TABLE t AS SELECT CAST(d AS DATE) AS d FROM (SELECT unnest({DAYS}) AS d)"
        " UNION ALL SELECT NULL"
    )
    return connection


@pytest.mark.parametrize("months", COUNTS)
def test_it_is_the_least_date_that_reaches(
    database: duckdb.DuckDBPyConnection, months: int
) -> None:
    day = typed(exp.column("d", table="t"), "date")
    reach = f"CAST({months_reach(day, number(months)).sql('duckdb')} AS DATE)"
    after = f"CAST(({reach}) + INTERVAL ({months}) MONTH AS DATE)"
    before = f"CAST(({reach}) - 1 + INTERVAL ({months}) MONTH AS DATE)"
    wrong = f"NOT ({after} >= d AND {before} < d) OR ({reach} IS NULL) <> (d IS NULL)"
    assert database.execute(f"SELECT d FROM t WHERE {wrong}").fetchall() == []


@pytest.mark.parametrize("side", ["add_months(current_date(), {})", "last_day(current_date())"])
@pytest.mark.parametrize("operator", [">", ">=", "<", "<=", "=", "<>", "<=>"])
def test_every_operator_is_the_definition(
    database: duckdb.DuckDBPyConnection, side: str, operator: str
) -> None:
    for months in (-25, -1, 1, 12):
        query = parse(f"select {side.format(months)} {operator} t.d as c from t")
        typed_query = annotate_types(query, schema={"t": {"d": "date"}}, dialect="spark")
        tree = typed_query.selects[0].unalias()
        day = f"CAST(s + INTERVAL ({months}) MONTH AS DATE)" if "{}" in side else "last_day(s)"
        same = {"<=>": "IS NOT DISTINCT FROM"}.get(operator, operator)
        for wanted, test in (("true", "IS TRUE"), ("false", "IS FALSE"), ("unknown", "IS NULL")):
            solved = truth_at_s(solve(tree, wanted)).sql("duckdb")
            definition = f"(({day} {same} t.d) {test})"
            wrong = database.execute(
                "SELECT s, t.d FROM (SELECT d AS s FROM t WHERE d IS NOT NULL) i, t"
                f" WHERE {definition} <> ({solved}) LIMIT 3"
            ).fetchall()
            assert wrong == [], (wanted, solved)


def test_over_timestamps_the_hint_names_the_date() -> None:
    tree = parse("select now() - interval 1 month > ts as c").selects[0].unalias()
    tree.expression.type = exp.DataType.build("timestamptz")
    with pytest.raises(Refusal, match="not monotone") as caught:
        solve(tree, "true")
    assert "current_date() - interval 1 month" in caught.value.hint
