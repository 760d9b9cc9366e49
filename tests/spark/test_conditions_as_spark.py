"""The evaluator that judges what is inferred computes what Spark does (``tests/sql/spark_values``).

Random conditions of each type by itself, over rows near to their ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from pyspark.errors import ArithmeticException
from pyspark.sql import SparkSession
from sqlglot import exp
from tests.seeds import seeds
from tests.sql.random_conditions import ALONE, Conjunctions, Key, fresh, rows_of, safely
from tests.sql.spark_values import BITS, Value

ROWS = 12
SETTINGS = ("spark.sql.session.timeZone", "spark.sql.ansi.enabled")


@pytest.fixture(autouse=True)
def _settings(spark: SparkSession) -> Iterator[None]:
    before = {name: spark.conf.get(name) for name in SETTINGS}
    spark.conf.set("spark.sql.ansi.enabled", "false")
    yield
    for name, value in before.items():
        spark.conf.set(name, str(value))


def _written(kind: str, value: Any) -> str:
    if value is None:
        return f"CAST(NULL AS {kind})"
    if kind == "date":
        return f"date_add(DATE'1970-01-01', {value})"
    if kind == "timestamp":
        return f"timestamp_micros({value})"
    text = f"{value:f}" if kind.startswith("decimal") else str(value)
    quoted = exp.Literal.string(text).sql("spark")
    return f"{value}" if kind in BITS and kind == "int" else f"CAST({quoted} AS {kind})"


def _relation(rows: list[dict[Key, Value]]) -> str:
    selects = []
    for number, row in enumerate(rows):
        structs = []
        for alias in dict.fromkeys(alias for alias, _ in row):
            fields = [
                f"'{name}', {_written(*value)}" for (a, name), value in row.items() if a == alias
            ]
            structs.append(f"named_struct({', '.join(fields)}) AS {alias}")
        selects.append(f"SELECT {number} AS n, {', '.join(structs)}")
    return " UNION ALL ".join(selects)


@pytest.mark.more
@pytest.mark.parametrize(
    ("group", "zone"), [*((group, "UTC") for group in ALONE), ("timestamp", "Europe/Berlin")]
)
def test_conditions_are_evaluated_as_spark_does(spark: SparkSession, group: str, zone: str) -> None:
    spark.conf.set("spark.sql.session.timeZone", zone)
    known = 0
    for seed in seeds(30):
        random = Random(f"{group} {seed}")
        made = Conjunctions(random, ALONE[group])
        conditions = [one for _ in range(2) for one in made.some()]
        rows = []
        for _ in range(ROWS):
            one = [random.choice(conditions)]
            some = rows_of(made.types, one, None, random, zone)
            rows.append(some or {k: (t, fresh(t, random)) for k, t in made.types.items()})
        for condition, truths in _truths(spark, conditions, _relation(rows)):
            for row, truth in zip(rows, truths, strict=True):
                wanted = safely(condition, row, zone)
                known += wanted is not None
                assert truth == wanted, (condition.sql("spark"), row)
    assert known > 1_000


def _truths(
    spark: SparkSession, conditions: list[exp.Expr], relation: str
) -> Iterator[tuple[exp.Expr, list[bool | None]]]:
    """What Spark says of each row; not of a condition whose constants it cannot fold."""
    listed = [f"{one.sql('spark')} AS c{n}" for n, one in enumerate(conditions)]
    try:
        found = spark.sql(f"SELECT {', '.join(listed)} FROM ({relation}) ORDER BY n").collect()
    except ArithmeticException:
        if len(conditions) > 1:
            for one in conditions:
                yield from _truths(spark, [one], relation)
        return
    for place, condition in enumerate(conditions):
        yield condition, [row[place] for row in found]
