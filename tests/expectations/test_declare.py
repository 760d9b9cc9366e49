"""Expectations as they are declared: what is understood, what is refused, and in which words."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from tapestry.errors import ConfigurationError
from tapestry.runs.after.documents import validation_result
from tapestry.runs.checks.checks import CheckResult, Findings
from tapestry.runs.checks.staging import hidden
from tapestry.runs.engine.session import Session
from tapestry.runs.expectations.row_conditions import condition_of
from tapestry.runs.expectations.validate import Expected, prepare
from tapestry.runs.model.declare import parse_expectations
from tapestry.runs.protocol.log import Entry
from tapestry.runs.tables.run_identity import RunIdentity

NAMED = {"name": "named", "expect": "author is not null"}


def test_what_is_understood() -> None:
    named, lengths, other = parse_expectations(
        [
            {**NAMED, "on_violation": "drop"},
            {"expect_column_value_lengths_to_be_between": {"column": "subject", "max_value": 400}},
            {"expect": "a  >\n 1;"},
        ]
    )
    assert (named.name, named.on_violation, named.condition) == (
        "named",
        "drop",
        "author is not null",
    )
    assert lengths.name == "expect_column_value_lengths_to_be_between(subject)"
    assert lengths.on_violation == "warn"
    assert condition_of(lengths) == "length(`subject`) <= 400"
    assert (other.name, other.condition) == ("a > 1", "a  >\n 1")


@pytest.mark.parametrize(
    ("entries", "told"),
    [
        ("author is not null", "is not a list"),
        (["author is not null"], "is not an expectation"),
        ([{"name": "x"}], "one expectation"),
        ([{**NAMED, "expect_column_to_exist": {"column": "a"}}], "one expectation"),
        ([{**NAMED, "on_violation": "dropp"}], "did you mean drop"),
        ([{**NAMED, "on_violaton": "drop"}], "did you mean on_violation"),
        ([{"nam": "x", "expect": "a > 1"}], "did you mean name"),
        ([{"expect": ""}], "not a condition"),
        ([{"expect": True}], "not a condition"),
        ([{"expect_column_to_exist": "a"}], "not arguments"),
        ([NAMED, {**NAMED, "name": "Named"}], "two expectations have the name named"),
    ],
)
def test_what_is_refused(entries: Any, told: str) -> None:
    with pytest.raises(ConfigurationError, match=told) as error:
        parse_expectations(entries)
    assert len(str(error.value).splitlines()) <= 5


@pytest.mark.parametrize(
    ("kind", "arguments", "condition"),
    [
        (
            "values_to_be_in_set",
            {"value_set": ["it's", 1, 1.5, True]},
            "IN (('it' || CAST(X'27' AS STRING) || 's'), 1, 1.5D, t",
        ),
        ("values_to_be_in_set", {"value_set": []}, None),
        ("values_to_be_in_set", {"value_set": [None]}, None),
        ("values_to_be_in_set", {"value_set": [None, "b", None]}, "IN ('b')"),
        ("values_to_be_between", {"min_value": 3, "max_value": 1}, None),
        ("values_to_be_between", {"min_value": 1, "mostly": 0.9}, None),
        ("values_to_be_between", {"min_value": 1, "mostly": 1.0, "notes": "n"}, ">= 1"),
        ("values_to_be_between", {"min_value": date(2026, 1, 1)}, ">= '2026-01-01'"),
        ("values_to_be_between", {"min_value": 1, "row_condition": "b > 1"}, None),
        (
            "values_to_match_regex",
            {"regex": "a\\d'"},
            "RLIKE ('a' || CAST(X'5C' AS STRING) || 'd' || CAST(X'27' AS STRING))",
        ),
        ("values_to_be_unique", {}, None),
    ],
)
def test_conditions(kind: str, arguments: dict[str, Any], condition: str | None) -> None:
    wanted = {f"expect_column_{kind}": {"column": "a`b", **arguments}}
    made = condition_of(parse_expectations([wanted])[0])
    assert made is None if condition is None else f"`a``b` {condition}" in str(made)


NAN = float("nan")


@pytest.mark.parametrize(
    ("kind", "arguments", "told"),
    [
        ("values_to_be_in_set", {"value_set": [None]}, "value_set: [None] holds null only"),
        ("values_to_not_be_in_set", {"value_set": ["a", None]}, "rows without a value"),
        ("distinct_values_to_be_in_set", {"value_set": ["a", None]}, "rows without a value"),
        ("values_to_be_in_set", {"value_set": None}, "value_set: null is not a list"),
        ("values_to_be_in_set", {"value_set": "a"}, "value_set: 'a' is not a list"),
        ("values_to_be_in_set", {"value_set": []}, "value_set: [] is an empty list"),
        ("values_to_be_in_set", {"value_set": ["a", ["b"]]}, "value_set: ['a', ['b']] holds"),
        ("values_to_be_in_set", {"value_set": [NAN]}, "holds nan, which equals nothing"),
        ("values_to_be_in_set", {}, "value_set is missing"),
        ("values_to_be_between", {}, "neither min_value nor max_value"),
        ("values_to_be_between", {"min_value": NAN}, "min_value: nan is not a value"),
        ("values_to_be_between", {"min_value": [1]}, "min_value: [1] is not a number"),
        ("values_to_be_between", {"min_value": True}, "min_value: True is not a number"),
        ("values_to_be_between", {"min_value": 3, "max_value": 1}, "min_value: 3 is above"),
        ("values_to_be_between", {"min_value": 3, "max_value": "4"}, "are of two types"),
        ("values_to_be_between", {"min_value": 3, "strict_min": "yes"}, "strict_min: 'yes' is not"),
        ("value_lengths_to_be_between", {"min_value": -1}, "min_value: -1 is not a length"),
        ("value_lengths_to_equal", {"value": "3"}, "value: '3' is not a length"),
        ("values_to_match_regex", {"regex": None}, "regex: null is not a text"),
        ("values_to_match_regex", {"regex": ["a"]}, "regex: ['a'] is not a text"),
        ("values_to_match_regex", {"regex": ""}, "regex: '' is an empty text"),
        ("values_to_not_be_null", {"column": None}, "column: null is not a text"),
        ("values_to_not_be_null", {"column": ["a"]}, "column: ['a'] is not a text"),
        ("values_to_not_be_null", {"mostly": None}, "mostly: null is not a number from 0 to 1"),
    ],
)
def test_arguments_that_say_nothing(kind: str, arguments: dict[str, Any], told: str) -> None:
    """Each names the expectation and the argument before anything is read."""
    wanted = {f"expect_column_{kind}": {"column": "a", **arguments}, "name": "mine"}
    with pytest.raises(ConfigurationError) as error:
        prepare(
            Analysing(),
            parse_expectations([wanted]),
            Expected("select 1 as a", "m", ["a"], "m.sql"),
        )
    assert str(error.value).startswith(f"mine: {told}") or told in error.value.reason
    assert error.value.reason.startswith("mine: ")
    assert "in: m.sql" in str(error.value)


class Analysing(Session):
    """A session that says of every condition that it is a boolean, and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def run(self, sql: str) -> None:
        raise AssertionError(sql)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        self.asked.append(sql)
        return [("c", "boolean", None)] * sql.count(") AS _")


def test_tables_in_conditions_are_read_at_their_pins() -> None:
    condition = (
        "a in (with q as (select b from s.`t u` x where x.c = 1 -- s.t\n) select b from q)"
        " and exists (select 1 from v version as of 3) and not exists (select 1 from w)"
    )
    session = Analysing()
    (one,) = prepare(
        session,
        parse_expectations([{"expect": condition}]),
        Expected("select 1 as a", "m", ["a"], "m.sql"),
        lambda name: f"VERSION AS OF {len(name)}" if name != "w" else "",
    )
    assert one.condition == condition.replace("`t u` x", "`t u` VERSION AS OF 5 x")
    assert len(session.asked) == 1


def test_names_of_ours_make_way() -> None:
    assert hidden("n", ["id"]) == "n"
    assert hidden("n", ["N", "_n"]) == "__n"


def test_a_result_is_a_validation_result(tmp_path: Path) -> None:
    (wanted,) = parse_expectations([NAMED])
    results = [
        CheckResult("expectation", "named", "warn", "warn", 8, 2, expectation=wanted),
        CheckResult("expectation", "wrong", "warn", "error", 8, 0, {"message": "why"}),
        CheckResult("enough", "enough", "fail", "pass", 8, 0, level="sample"),
    ]
    entry = Entry(RunIdentity("s.m", "g", 3, "r"), Findings(tuple(results)), 1.0)
    found = validation_result("s.m", "i", entry.ended_at, results)
    assert json.dumps(found)
    assert [one["success"] for one in found["results"]] == [False, False, True]
    assert found["results"][0]["result"]["unexpected_percent"] == 25.0
    assert found["results"][1]["exception_info"]["exception_message"] == "why"
    assert entry.verification == "passed"
