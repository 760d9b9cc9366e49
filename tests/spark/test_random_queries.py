"""The judge's random queries on Spark: the rewriting, and how the judge reads functions."""

from __future__ import annotations

import random
import re
import sys
from collections import Counter
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

sys.path.insert(0, str(Path(__file__).parents[1] / "property"))

from judge.case import Case, expected, normalized, random_case
from judge.chains import chain_case
from judge.data import Data
from judge.oracle import Definition as Oracle
from judge.oracle import beginning, connect, instants, load
from judge.report import reproduction
from judge.schema import ARRIVAL, SPARK_TYPES, TABLES
from judge.verdict import CATALOG, compare
from tests.marks import more
from tests.seeds import seed
from tests.verification.judged import EVERYTHING, aware

from tapestry.sql import rewrite
from tapestry.verification.compare_own_text import ask_own_text, spread
from tapestry.verification.definition import Definition

pytestmark = pytest.mark.gate

QUERIES, IN_THE_GATE = 30, 10
READINGS = 20
OWN_IN_THE_GATE, OWN = 4, 300
CHAINS = (100, *map(more, (88, 207)))
"""Of cases in which no row ends, with answers and several windows."""
LONGEST = 300  # characters: Spark plans the others too slowly for this many
TODAY = re.compile(r"\b(current_date(\(\))?|curdate\(\))", re.IGNORECASE)
NOW = re.compile(r"\b(now\(\)|current_timestamp(\(\))?)", re.IGNORECASE)
UNIX = re.compile(r"\bunix_timestamp\(\)", re.IGNORECASE)


def make_views(spark: SparkSession, data: Data, seen: datetime | None = None) -> None:
    """The judge's tables as temporary views; with `seen` only the rows visible then."""
    for table, columns in TABLES.items():
        types = [*(SPARK_TYPES[type_] for type_ in columns.values()), "timestamp", "int"]
        names = [*columns, "_arr", "_rid"]
        shape = ", ".join(f"{name} {type_}" for name, type_ in zip(names, types, strict=True))
        rows = [row for row in data.rows[table] if seen is None or _visible(table, row[-2], seen)]
        if rows:
            values = ", ".join(f"({', '.join(map(_cell, row, types))})" for row in rows)
            view = spark.sql(f"SELECT * FROM VALUES {values} AS t({', '.join(names)})")
        else:
            view = spark.createDataFrame([], shape)
        hidden = [] if seen is None else ["_arr", "_rid"]
        view.drop(*hidden).createOrReplaceTempView(table)


def _visible(table: str, arrival: datetime | None, seen: datetime) -> bool:
    return ARRIVAL[table] is None or (arrival is not None and arrival <= seen)


def _cell(cell: Any, type_: str) -> str:
    return f"CAST({'NULL' if cell is None else repr(str(cell))} AS {type_})"


def collect_answers(spark: SparkSession, text: str) -> list[tuple[Any, ...]]:
    """Rows; Spark gives a TIMESTAMP as naive time of the machine's own zone."""
    return [tuple(map(_utc, row)) for row in spark.sql(text).collect()]


def _utc(cell: Any) -> Any:
    return cell.astimezone(timezone.utc) if isinstance(cell, datetime) else cell


def random_cases(count: int, first: int) -> list[Case]:
    found: list[Case] = []
    number = first
    while len(found) < count:
        case = random_case(number)
        number += 1
        if len(case.sql) <= LONGEST and len(case.ends) <= 3:
            found.append(case)
    return found


def _parameters() -> list[Any]:
    cases = random_cases(QUERIES, seed())
    return [*cases[:IN_THE_GATE], *map(more, cases[IN_THE_GATE:])]


@pytest.mark.parametrize("case", _parameters(), ids=lambda case: str(case.number))
def test_rewriting_on_spark_equals_the_definition(spark: SparkSession, case: Case) -> None:
    """Q^I in Spark's dialect, run by Spark."""
    right = expected(case, connect())
    make_views(spark, case.data)
    verdict = compare(case, right, lambda text: collect_answers(spark, text), "spark")
    assert not verdict.failed, reproduction(case, right, verdict)


@pytest.mark.parametrize("number", CHAINS)
def test_a_chain_of_left_joins_on_spark_equals_the_definition(
    spark: SparkSession, number: int
) -> None:
    """Q^I of many LEFT JOINs, one after the other, in Spark's dialect, run by Spark."""
    case = chain_case(number)
    assert rewrite(case.sql, CATALOG).strategy == "stages"
    right = expected(case, connect())
    assert right
    make_views(spark, case.data)
    verdict = compare(case, right, lambda text: collect_answers(spark, text), "spark")
    assert not verdict.failed, reproduction(case, right, verdict)


def test_the_judge_reads_spark_functions_as_spark_does(spark: SparkSession) -> None:
    """Q(s) by the judge is Q(s) by Spark, with now() replaced in the text."""
    connection = connect()
    for case in random_cases(READINGS, seed() + 10_000):
        load(connection, case.data)
        start = beginning(case.query, case.data, None)
        if start is None or start > case.ends[-1]:
            continue
        moments = instants(case.query, case.data, start, case.ends[-1])
        moment = random.Random(case.number).choice(moments)
        asked = Oracle(case.query, connection)
        right = normalized(asked.at_each([moment]).get(moment, Counter()).elements())
        make_views(spark, case.data, moment)
        values = ", ".join(asked.values)  # audit columns are no part of an answer
        got = normalized(
            collect_answers(spark, f"SELECT {values} FROM ({_as_of(case.sql, moment)})")
        )
        assert got == right, f"{case.number} at {moment}: {case.sql}"


def _as_of(sql: str, moment: datetime) -> str:
    literal = f"TIMESTAMP '{moment:%Y-%m-%d %H:%M:%S.%f}'"
    sql = UNIX.sub("unix_timestamp(now())", sql)
    return NOW.sub(literal, TODAY.sub("CAST(now() AS DATE)", sql))


@pytest.mark.parametrize("count", [OWN_IN_THE_GATE, more(OWN)])
def test_the_own_text_answers_as_what_was_read_of_it(spark: SparkSession, count: int) -> None:
    """At several instants; the text has its words, the definition is written anew."""
    asked: Counter[str] = Counter()
    for case in random_cases(count, seed() + 20_000 + count):
        start = beginning(case.query, case.data, case.begin)
        if start is None:
            continue
        moments = instants(case.query, case.data, start, max(start, case.ends[-1]))
        chosen = spread(map(aware, moments))
        make_views(spark, case.data)
        definition = Definition.read(case.sql, CATALOG, EVERYTHING)
        said, found = ask_own_text(definition, chosen, lambda text: collect_answers(spark, text))
        assert not found, (case.number, case.sql, chosen, found)
        asked[said.partition(":")[0]] += 1
    assert asked.total() - asked["not asked"] >= count // 4, asked
