"""Functions, literals and operators mean to Spark what their author wrote, or are refused.

The examples are Spark's own: what DESCRIBE FUNCTION EXTENDED shows of every function it has.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from sqlglot import exp

from tapestry.errors import Refusal
from tapestry.sql import Catalog, Column, Scan, Source, Window, rewrite
from tapestry.sql.read.parse import parse

ONE = "select 1 as n, timestamp'2024-01-01 12:00:00+00:00' as at, '1' as rid"
CATALOG = Catalog({"one": Source("one", (Column("n", "int"), Column("at", "timestamp")), "at")})
DAY = Window(datetime(2024, 1, 1, tzinfo=timezone.utc), datetime(2024, 1, 2, tzinfo=timezone.utc))
EXAMPLES = re.compile(
    r"Examples:(.*?)(\n\s*(Since|Note|Arguments|Deprecated|Group):|\Z)", re.DOTALL
)
EXAMPLE = re.compile(r"> SELECT (.*?);\s*\n", re.DOTALL)
EXPRESSIONS = Path(__file__).with_name("expressions.txt")


@pytest.fixture(scope="module", autouse=True)
def _one(spark: SparkSession) -> Iterator[None]:
    """A table of one row; and the parser's warnings are refusals, nobody has to read them."""
    spark.sql(ONE).createOrReplaceTempView("one")
    logging.getLogger("sqlglot").setLevel(logging.ERROR)
    yield
    logging.getLogger("sqlglot").setLevel(logging.NOTSET)
    spark.catalog.dropTempView("one")


def _asked(spark: SparkSession, sql: str) -> tuple[str, list[str]] | None:
    """The rows as text, and the types; None where Spark does not answer."""
    try:
        frame = spark.sql(sql)
        rows = [tuple(row) for row in frame.collect()]
    except PySparkException:
        return None
    return str(rows), [field.dataType.simpleString() for field in frame.schema.fields]


def _differs(spark: SparkSession, expression: str) -> str:
    """How the rewritten query's answer is another one; '' where it is not, or is refused."""
    sql = f"SELECT {expression} FROM one"
    try:
        text = rewrite(sql, CATALOG).incremental(DAY, {"one": Scan("one", "at", "rid")})
    except Refusal:
        return ""
    right = _asked(spark, sql)
    ours = _asked(spark, f"SELECT * EXCEPT (_matched_at) FROM ({text})")
    return "" if right == ours else f"{sql}\n  Spark {right}\n  ours  {ours}"


def _described(spark: SparkSession) -> list[str]:
    names = [row[0] for row in spark.sql("SHOW SYSTEM FUNCTIONS").collect()]
    found = []
    for name in names:
        described: list[Any] = spark.sql(f"DESCRIBE FUNCTION EXTENDED `{name}`").collect()
        part = EXAMPLES.search("\n".join(row[0] for row in described))
        found += [] if part is None else EXAMPLE.findall(part.group(1))
    return [
        text for text in found if not re.search(r"\bFROM (VALUES|\(|range)", text, re.IGNORECASE)
    ]


def test_operators_and_literals_are_read_as_spark_reads_them(spark: SparkSession) -> None:
    expressions = EXPRESSIONS.read_text("utf-8").splitlines()
    wrong = list(filter(None, (_differs(spark, f"{one} AS c") for one in expressions)))
    assert not wrong, "\n".join(wrong)
    answered = [one for one in expressions if _asked(spark, f"SELECT {one} AS c FROM one")]
    assert len(answered) > 130


def test_every_example_of_every_function(spark: SparkSession) -> None:
    """Those of aggregates read inline tables, which are refused."""
    expressions = _described(spark)
    assert len(expressions) > 850
    wrong = list(filter(None, (_differs(spark, one) for one in expressions)))
    assert not wrong, "\n".join(wrong)


def test_every_aggregate_is_known_as_one(spark: SparkSession) -> None:
    """By the class that Spark has for it: EXISTS over an aggregate is always true."""
    seen = 0
    for (name,) in spark.sql("SHOW SYSTEM FUNCTIONS").collect():
        about = " ".join(row[0] for row in spark.sql(f"DESCRIBE FUNCTION `{name}`").collect())
        if ".aggregate." not in about:
            continue
        for arguments in ("n", "n, n", "n, n, n"):
            try:
                tree = parse(f"SELECT {name}({arguments}) FROM one")
            except Refusal:
                continue
            assert tree.find(exp.AggFunc) is not None, name
            seen += 1
            break
    assert seen > 60
