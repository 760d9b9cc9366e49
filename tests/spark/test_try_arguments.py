"""Arguments of expectations that only Spark can judge, before any row is read."""

from __future__ import annotations

from typing import Any

import pytest
from tests.spark.run_world import World

from tapestry.errors import ConfigurationError

ALL = "select m.id, m.author, m.ts from {s}.messages m"


@pytest.mark.parametrize(
    ("kind", "arguments", "told"),
    [
        ("values_to_match_regex", {"column": "author", "regex": "(a"}, r"regex: '\(a' is not a pa"),
        ("values_to_match_like_pattern", {"column": "id", "like_pattern": "a\\"}, "is not a patt"),
        (
            "values_to_be_between",
            {"column": "id", "min_value": "x"},
            "min_value: 'x' is no int, and",
        ),
        ("values_to_be_between", {"column": "ts", "max_value": "soon"}, "is no timestamp"),
        ("values_to_be_in_set", {"column": "ID", "value_set": ["1", "one"]}, "'one' is no int"),
        ("distinct_values_to_be_in_set", {"column": "id"}, "do not fit"),
        ("values_to_be_in_set", {"column": "author", "value_set": ["a", 1]}, "1 is not a text"),
        ("values_to_be_between", {"column": "author", "min_value": 1}, "1 is not a text, and the"),
        (
            "values_to_be_between",
            {"column": "id", "min_value": "10", "max_value": "9"},
            "min_value: '10' is above max_value: '9'",
        ),
        ("max_to_be_between", {"column": "id"}, "neither min_value nor max_value is given"),
        ("max_to_be_between", {"column": "id", "min_value": 2, "max_value": 1}, "2 is above max"),
        # Great Expectations runs these
        (
            "values_to_match_regex",
            {"column": "author", "regex": "(a", "mostly": 0.5},
            r"regex: '\(a' is not a pattern",
        ),
        ("values_to_match_regex_list", {"column": "author", "regex_list": ["a", "(b"]}, r"'\(b'"),
        ("values_to_be_in_set", {"column": "ts", "value_set": ["x"], "mostly": 0.5}, "no timest"),
        (
            "values_to_not_be_null",
            {"column": "author", "row_condition": "nope = 1", "condition_parser": "spark"},
            "row_condition: 'nope = 1' is not a condition on a row: .*nope",
        ),
        (
            "values_to_not_be_null",
            {"column": "author", "row_condition": "id +", "condition_parser": "spark"},
            "row_condition: .id \\+. is not a condition",
        ),
        (
            "values_to_not_be_null",
            {"column": "author", "row_condition": "id", "condition_parser": "spark"},
            "row_condition: .* its type is int",
        ),
    ],
)
def test_refused(world: World, kind: str, arguments: dict[str, Any], told: str) -> None:
    wanted = {f"expect_column_{kind}": arguments, "name": "mine"}
    with pytest.raises(ConfigurationError, match=f"^mine: .*{told}") as error:
        world.run(world.model(ALL, expectations=[{"expect": "id > 0"}, wanted]), 10)
    assert len(str(error.value).splitlines()) <= 5
    assert "models/target.sql" in str(error.value)


def test_what_fits_is_taken(world: World) -> None:
    ids = {"column": "id", "value_set": ["1", "2", "3"]}
    wanted: list[dict[str, Any]] = [
        {"expect_column_values_to_be_in_set": ids},
        {"expect_column_values_to_match_regex": {"column": "author", "regex": "^\\w$"}},
        {"expect_column_values_to_be_in_set": {"column": "author", "value_set": ["a", None]}},
        {
            "expect_column_values_to_be_between": {
                "column": "id",
                "min_value": "2",
                "max_value": "10",
            }
        },
        {
            "expect_column_values_to_be_in_set": {
                "column": "author",
                "value_set": ["a"],
                "row_condition": "id <> 2",
                "condition_parser": "spark",
            },
            "name": "of some rows",
        },
    ]
    outcome = world.run(world.model(ALL, expectations=wanted), 10)
    assert [result.violations for result in outcome.results] == [0, 0, 1, 1, 0]
