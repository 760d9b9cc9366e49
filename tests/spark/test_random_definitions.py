"""``Q(s)`` at many instants in one statement, planned and executed by Spark."""

from __future__ import annotations

import random
import sys
from collections import Counter
from pathlib import Path

from pyspark.sql import SparkSession

sys.path.insert(0, str(Path(__file__).parents[1] / "property"))

from judge.case import normalized
from judge.oracle import Definition as Oracle
from judge.oracle import beginning, connect, instants, load
from judge.verdict import CATALOG
from tests.seeds import seed
from tests.spark.test_random_queries import _cases, _collect, _views
from tests.verification.judged import EVERYTHING, aware, over_everything

from tapestry.verification.definition import Definition
from tapestry.verification.events import event_instants

QUERIES = 12


def test_spark_gives_the_static_answers(spark: SparkSession) -> None:
    """What the judge says of Q(s) at some instants; and the event instants that DuckDB finds."""
    connection, compared = connect(), 0
    for case in _cases(QUERIES, seed()):
        load(connection, case.data)
        _views(spark, case.data)
        start = beginning(case.query, case.data, case.begin)
        if start is None:
            continue
        end = max(start, case.ends[-1])
        moments = instants(case.query, case.data, start, end)
        chosen = random.Random(case.number).sample(moments, min(3, len(moments)))
        asked = Definition.read(case.sql, CATALOG, EVERYTHING)
        ctes = [asked.instants(map(aware, chosen)), ("answers", asked.answers())]
        rows = _collect(spark, asked.statement(ctes, "SELECT * FROM answers"))
        assert len(set(rows)) == len(rows), case.sql
        judged = Oracle(case.query, connection).at_each(chosen)
        for moment in chosen:
            mine = normalized(row[:-2] for row in rows if row[-2] == aware(moment))
            assert mine == normalized(judged.get(moment, Counter()).elements()), (case.sql, moment)
            compared += 1
        here = _collect(spark, event_instants(asked, aware(start), aware(end)))
        there = event_instants(over_everything(case.sql, case.data), aware(start), aware(end))
        assert sorted(here) == sorted(connection.execute(there).fetchall()), case.sql
    assert compared
