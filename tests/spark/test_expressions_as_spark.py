"""Random expressions in all places mean to Spark, as they are written again, what they meant.

Spark is asked the author's own text, the text that a run writes of it, and the tree that was read
with parentheses around every operator: a tree that is not Spark's shows in the last one, though its
text may be the author's own.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from sqlglot import exp
from tests.marks import more
from tests.seeds import seed
from tests.sql.random_expressions import ROWS, random_expression

from tapestry.errors import Refusal
from tapestry.sql.read.parse import parse
from tapestry.sql.write.dialects import for_dialect
from tapestry.sql.write.explicit import explicit

pytestmark = pytest.mark.gate

AT_ONCE, IN_THE_GATE, WIDER = 50, 100, 2_000
NAMED = (
    "interval '2' day '12' hours * 2",
    "timestamp'2024-01-01' + interval '2' day '12' hours * 2 + interval -'1' day",
    "- interval 1 day 2 hours",
    "interval 3 days -2 hours / 2",
    "ts between due - interval 1 day 2 hours * 2 and ts + interval '1' day '2' hours",
    "d + interval 1 day + 2",
    "interval '1' year '2' months * 3 - interval 1 month",
    "interval -'1' day * -1",
    "case when ts - due > interval 1 day 2 hours * 300 then -1::string else 7L * x end",
    "j in (1 | 2 & 4, 6 ^ 3 & 5)",
    "j | k & l ^ i << 1",
    "'a' || 1 + 2",
    "1 + 2 || 3",
    "x * 7L - 2S / x",
    "-1::string",
    "-1.5::string || - -2::string",
    "date'2024-02-29'::timestamp",
    "timestamp'2024-02-29 13:04:05'::date",
    "greatest(date '2020-02-29'::timestamp, date '2020-02-29')",
    "date_format(due, 'y') || date_format(due, 'yyyy') || date_format(d, 'M/d/y')",
    "date_format(due, 'yyyyy')",
    "date_format(due, '\\'year\\' y')",
    "to_timestamp(w, 'y-MM-dd')",
    "to_date(w, 'yyyy-MM-dd')",
    "trunc(d, 'Q')",
    "date_trunc('q', ts)",
    "not j = k or p and not q",
    "-j - -k * - 2",
    "2S + shiftleft(7L, 1)",
    "shiftleft(j | 8, 1) - 3",
    "`shiftRight`(j + 8, k & 1) || 'a'",
)
"""Each was once read or written as something else, or stands beside one that was."""


@pytest.fixture(scope="module", autouse=True)
def _rows(spark: SparkSession) -> Iterator[None]:
    spark.sql(ROWS).createOrReplaceTempView("v")
    yield
    spark.catalog.dropTempView("v")


def _asked(spark: SparkSession, expressions: list[str]) -> list[tuple[tuple[str, ...], ...] | str]:
    """Of each expression its values as text and their type, or the kind of error."""
    if not expressions:
        return []
    items = ", ".join(f"{one} AS c{n}" for n, one in enumerate(expressions))
    shown = ", ".join(f"CAST(c{n} AS STRING), typeof(c{n})" for n, _ in enumerate(expressions))
    try:
        rows = spark.sql(f"SELECT {shown} FROM (SELECT {items} FROM v)").collect()
    except PySparkException as error:
        if len(expressions) == 1:
            return [str(error.getCondition())]
        half = len(expressions) // 2
        return _asked(spark, expressions[:half]) + _asked(spark, expressions[half:])
    return [tuple((row[2 * n], row[2 * n + 1]) for row in rows) for n, _ in enumerate(expressions)]


def _read(expression: str) -> exp.Expr | None:
    """The expression as it is read; None where it is refused."""
    try:
        query = parse(f"select {expression} as c from v")
    except Refusal:
        return None
    return query.selects[0].this


def _wrong(spark: SparkSession, expressions: list[str]) -> tuple[list[str], int]:
    """What means something else when it is written again, and how many were answered."""
    read = [(one, tree) for one in expressions if (tree := _read(one)) is not None]
    wrong, answered = [], 0
    for first in range(0, len(read), AT_ONCE):
        part = read[first : first + AT_ONCE]
        right = _asked(spark, [one for one, _ in part])
        kept = [(*pair, told) for pair, told in zip(part, right, strict=True) if told[1:]]
        kept = [one for one in kept if not isinstance(one[2], str)]
        written = [for_dialect(exp.paren(tree), "spark").sql("spark") for _, tree, _ in kept]
        trees = [explicit(tree) for _, tree, _ in kept]
        answered += len(kept)
        for texts in (written, trees):
            found = _asked(spark, texts)
            wrong += [
                f"{one}\n  as {text}\n  {told}\n  {other}"
                for (one, _, told), text, other in zip(kept, texts, found, strict=True)
                if told != other
            ]
    return wrong, answered


def test_what_was_once_read_otherwise(spark: SparkSession) -> None:
    assert all(_read(one) is not None for one in NAMED)
    wrong, answered = _wrong(spark, list(NAMED))
    assert not wrong, "\n".join(wrong)
    assert answered > len(NAMED) - 4  # some dates are no dates


@pytest.mark.parametrize("count", [IN_THE_GATE, more(WIDER)])
def test_random_expressions_in_random_places(spark: SparkSession, count: int) -> None:
    random = Random(seed() + count)
    expressions = list(dict.fromkeys(random_expression(random, 2) for _ in range(count)))
    wrong, answered = _wrong(spark, [one for one in expressions if "--" not in one])
    assert not wrong, "\n".join(wrong)
    assert answered > count // 3
