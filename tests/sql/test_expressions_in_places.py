"""An expression in any place is written so that it is read as the same tree: literals, operators.

``tests/spark/test_expressions_as_spark.py`` asks Spark whether that tree is its own.
"""

from __future__ import annotations

from datetime import datetime, timezone
from random import Random
from time import process_time

import pytest
from sqlglot import exp, parse_one
from tests.seeds import seed
from tests.sql.random_expressions import COLUMNS, random_expression

from tapestry.errors import Refusal
from tapestry.sql import Catalog, Column, Scan, Source, Window, rewrite
from tapestry.sql.read.parse import parse
from tapestry.sql.read.read_tokens import SPARK
from tapestry.sql.read.refuse_read_otherwise import refuse_read_otherwise
from tapestry.sql.write.explicit import explicit, put_parentheses
from tapestry.verification.definition import Definition

COUNT = 150
KINDS = {**COLUMNS, "at": "timestamp"}
CATALOG = Catalog({"v": Source("v", tuple(Column(*one) for one in KINDS.items()), "at")})
SCANS = {"v": Scan("v", "at", "j")}
WINDOW = Window(None, datetime(2026, 1, 2, tzinfo=timezone.utc))
LENGTH = "interval '2' day '12' hours"
PLACES = (
    "{} * 2",
    "2 * {}",
    "{} / 2",
    "-{}",
    "ts - {}",
    "ts + {} * 2 + interval -'1' day",
    "ts between due - {} and due + {}",
    "case when ts - due > {} * 2 then {} else -{} end",
    "ts - due in ({}, {} * 2)",
    "greatest({} * 2, ts - due)",
    "{} + {} * 2 - {}",
)
OPERATORS = {
    "j | k & l": "j | (k & l)",
    "j ^ k & l | 1": "(j ^ (k & l)) | 1",
    "j | k << 1": "j | (SHIFTLEFT(k, 1))",
    "s || j + k": "(s || j) + k",
    "j + k || s": "(j + k) || s",
    "-1::string": "CAST((-1) AS STRING)",
    "- -1::string": "-CAST((-1) AS STRING)",
    "j - 1::int": "j - CAST(1 AS INT)",
    "date'2024-01-01'::timestamp": "CAST((CAST('2024-01-01' AS DATE)) AS TIMESTAMP)",
    "interval '1' day + 2": "(INTERVAL '1' DAY) + 2",
    "x * 7L": "x * 7L",
    "7::bigint": "CAST(7 AS BIGINT)",
}


def _explicit(expression: str) -> str:
    return explicit(parse(f"select {expression} as c from v").selects[0].this)


@pytest.mark.parametrize("place", PLACES)
def test_a_literal_of_two_units_is_one_operand_everywhere(place: str) -> None:
    """In what a run computes and in the definition: as if its author had put parentheses."""
    bare, wrapped = place.replace("{}", LENGTH), place.replace("{}", f"({LENGTH})")
    assert _explicit(bare) == _explicit(wrapped)
    for condition in ("{} is not null", "now() >= ts + interval 1 day and {} is not null"):
        texts = [f"select j from v where {condition.format(one)}" for one in (bare, wrapped)]
        plain, same = (rewrite(sql, CATALOG).incremental(WINDOW, SCANS) for sql in texts)
        assert explicit(parse_one(plain, dialect="spark")) == explicit(
            parse_one(same, dialect="spark")
        )
        asked = [Definition.read(sql, CATALOG, SCANS).answers() for sql in texts]
        assert explicit(parse_one(asked[0], dialect="spark")) == explicit(
            parse_one(asked[1], dialect="spark")
        )


@pytest.mark.parametrize(("written", "tree"), OPERATORS.items())
def test_operators_and_literals_bind_as_in_spark(written: str, tree: str) -> None:
    assert _explicit(written) == tree


def test_random_expressions_are_written_as_the_tree_that_was_read() -> None:
    random, read = Random(seed()), 0
    wrong: list[str] = []
    for _ in range(COUNT):
        expression = random_expression(random, 2)
        try:
            query = parse(f"select {expression} as c from v where {expression} is null")
        except Refusal as refusal:
            wrong += [expression] if refusal.code == "written-otherwise" else []
            continue
        read += 1
        refuse_read_otherwise(query, parse)
    assert not wrong
    assert read > COUNT // 2


def test_what_is_put_together_gets_its_parentheses() -> None:
    """Trees that passes make of others: each operator in each place of each other."""
    left, right, third = (exp.column(name) for name in "jkl")
    binary = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.IntDiv, exp.DPipe, exp.And, exp.Or)
    binary += (exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor, exp.BitwiseLeftShift, exp.EQ, exp.LT)
    for outer in binary:
        for inner in binary:
            part = inner(this=left.copy(), expression=right.copy())
            trees = [
                outer(this=part.copy(), expression=third.copy()),
                outer(this=third.copy(), expression=part.copy()),
                exp.Neg(this=part.copy()),
                exp.Not(this=part.copy()),
                exp.Between(this=part.copy(), low=part.copy(), high=part.copy()),
                exp.In(this=part.copy(), expressions=[part.copy()]),
            ]
            for tree in trees:
                whole = explicit(tree)
                put_parentheses(tree)
                assert explicit(parse_one(tree.sql("spark"), dialect="spark")) == whole


def test_a_query_that_would_be_written_as_another_one_is_refused() -> None:
    query = parse("select j from v where j = 1")
    with pytest.raises(Refusal, match="would be read as") as refused:
        refuse_read_otherwise(query, lambda text: parse(text.replace("= 1", "= 2")))
    assert refused.value.code == "written-otherwise"


@pytest.mark.parametrize(
    ("call", "kept"),
    [
        ("date_format(ts, 'y')", "CAST(DATE_FORMAT(v.ts, 'y') AS STRING)"),
        ("date_format(ts, 'd MMM y')", "CAST(DATE_FORMAT(v.ts, 'd MMM y') AS STRING)"),
        ("date_format(ts, 'yyyy')", "DATE_FORMAT(v.ts, 'yyyy')"),
        ("to_timestamp(w, 'y-M-d')", "CAST(TO_TIMESTAMP(v.w, 'y-M-d') AS TIMESTAMP)"),
        ("to_date(w, 'yyyy-MM-dd')", "CAST(TO_DATE(v.w, 'yyyy-MM-dd') AS DATE)"),
        ("trunc(d, 'Q')", "CAST(TRUNC(v.d, 'Q') AS DATE)"),
        ("date_trunc('mon', ts)", "DATE_TRUNC('MON', v.ts)"),
    ],
)
def test_formats_and_units_stay_as_they_are(call: str, kept: str) -> None:
    text = rewrite(f"select {call} as c from v", CATALOG).incremental(WINDOW, SCANS)
    assert f"{kept} AS c" in text


COMMENTED = (
    "with c as (select m.id, m.ts from db.m as m where m.v * 2 > 1 or not m.v is null)"
    " select c.id, count(*) as n, case when c.id = 1 then 'a' else -c.id end as k"
    " from c left join db.m as o on o.id = c.id and o.ts between c.ts and c.ts + interval '2' day"
    " where now() >= c.ts + interval '1 day' * 3 group by c.id union all select 1, 2, 'b'"
)


@pytest.mark.parametrize("comment", ["/* it's; */", "-- x' (\n", "/* a -- b */", "-- Fixture\n"])
def test_a_comment_anywhere_changes_nothing(comment: str) -> None:
    """dbt writes one behind the first parenthesis of each CTE of a unit test."""
    expected = explicit(parse(COMMENTED))
    for token in SPARK.tokenize(COMMENTED):
        text = f"{COMMENTED[: token.start]} {comment} {COMMENTED[token.start :]}"
        assert explicit(parse(text)) == expected, text


@pytest.mark.parametrize("operator", ["||", "+", "|", "&", "^", "<<"])
def test_a_long_chain_costs_what_its_operands_do(operator: str) -> None:
    """Copied for each operator it took two minutes, before it was found too deep."""
    before = process_time()
    with pytest.raises(Refusal, match="nested"):
        parse(f"select {f' {operator} '.join(['a'] * 4000)} as c from v")
    assert process_time() - before < 10
