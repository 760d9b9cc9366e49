"""``Q(s)`` at many instants in one statement, planned and executed by Spark."""

from __future__ import annotations

import random
import sys
from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

sys.path.insert(0, str(Path(__file__).parents[1] / "property"))

from judge.case import Case, normalized, random_case
from judge.oracle import Definition as Oracle
from judge.oracle import beginning, connect, instants, load
from judge.verdict import CATALOG
from tests.seeds import seed
from tests.spark.test_random_queries import collect_answers, make_views, random_cases
from tests.verification.judged import EVERYTHING, aware, over_everything

from tapestry.verification.definition import Definition
from tapestry.verification.events import event_instants

QUERIES = 12
FAILS = "the verification of EXISTS after OR inside NOT IN ends with an internal error of Spark"
PLANNED = pytest.mark.xfail(reason=FAILS, strict=True)
NAMED = (777147, *(pytest.param(number, marks=PLANNED) for number in (777376,)))
"""A subquery of a FULL JOIN's ON; EXISTS behind OR inside of NOT IN."""


def test_spark_gives_the_static_answers(spark: SparkSession) -> None:
    """What the judge says of Q(s) at some instants; and the event instants that DuckDB finds."""
    assert sum(_compared(spark, case) for case in random_cases(QUERIES, seed()))


@pytest.mark.parametrize("number", NAMED)
def test_spark_plans_what_a_run_accepts(spark: SparkSession, number: int) -> None:
    assert _compared(spark, random_case(number))


def _compared(spark: SparkSession, case: Case) -> int:
    """At how many instants the answers were the same."""
    connection = connect()
    load(connection, case.data)
    make_views(spark, case.data)
    start = beginning(case.query, case.data, case.begin)
    if start is None:
        return 0
    end = max(start, case.ends[-1])
    moments = instants(case.query, case.data, start, end)
    chosen = random.Random(case.number).sample(moments, min(3, len(moments)))
    asked = Definition.read(case.sql, CATALOG, EVERYTHING)
    ctes = [asked.instants(map(aware, chosen)), ("answers", asked.answers())]
    rows = collect_answers(spark, asked.statement(ctes, "SELECT * FROM answers"))
    assert len(set(rows)) == len(rows), case.sql
    judged = Oracle(case.query, connection).at_each(chosen)
    for moment in chosen:
        mine = normalized(row[:-2] for row in rows if row[-2] == aware(moment))
        assert mine == normalized(judged.get(moment, Counter()).elements()), (case.sql, moment)
    here = collect_answers(spark, event_instants(asked, aware(start), aware(end)))
    there = event_instants(over_everything(case.sql, case.data), aware(start), aware(end))
    assert sorted(here) == sorted(connection.execute(there).fetchall()), case.sql
    return len(chosen)
