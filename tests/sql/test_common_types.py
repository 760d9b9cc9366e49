"""Types that are certain, and what Spark widens two of them to."""

from __future__ import annotations

import pytest
from sqlglot import exp, maybe_parse

from tapestry.sql.facts.common_types import common_type, shape_of, type_of


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("1", "int"),
        ("3000000000", "bigint"),
        ("99999999999999999999", "decimal(20,0)"),
        ("1.50", "decimal(3,2)"),
        ("0.05", "decimal(2,2)"),
        ("-1.5e0", "double"),
        ("'a'", "string"),
        ("'a' || 1", "string"),
        ("null", "void"),
        ("cast(x as decimal(12, 3))", "decimal(12,3)"),
        ("cast(x as varchar(3))", "string"),
        ("timestamp'2026-01-01' + interval 1 day", "timestamp"),
        ("date'2026-01-01' + interval 1 day", ""),
        ("1 + 2L", "bigint"),
        ("1 + 2.5", ""),
        ("case when a then 1 else null end", "int"),
        ("coalesce(1, 2L)", ""),
        ("a = b", "boolean"),
        ("my_function(1)", ""),
    ],
)
def test_a_type_is_certain_or_not_told(text: str, name: str) -> None:
    assert type_of(maybe_parse(text, dialect="spark")) == name


@pytest.mark.parametrize(
    ("one", "other", "common"),
    [
        ("int", "bigint", "bigint"),
        ("bigint", "double", "double"),
        ("float", "double", "double"),
        ("float", "int", ""),
        ("decimal(10,2)", "bigint", "decimal(22,2)"),
        ("decimal(10,2)", "decimal(5,4)", "decimal(12,4)"),
        ("decimal(38,0)", "decimal(38,10)", ""),
        ("decimal(10,2)", "double", "double"),
        ("date", "timestamp", "timestamp"),
        ("date", "timestamp_ntz", "timestamp_ntz"),
        ("timestamp", "timestamp_ntz", "timestamp"),
        ("void", "array<int>", "array<int>"),
        ("string", "int", ""),
        ("boolean", "int", ""),
    ],
)
def test_two_types_widen_to_one(one: str, other: str, common: str) -> None:
    assert common_type(one, other) == common
    assert common_type(other, one) == common


def test_values_of_one_shape_differ_in_nothing_that_types_depend_on() -> None:
    def shape(text: str) -> str:
        tree = maybe_parse(text, dialect="spark")
        for column in tree.find_all(exp.Column):
            column.type = exp.DataType.build("decimal(10, 2)" if column.name == "d" else "int")
        return shape_of(tree)

    assert shape("my_function(a, 'x')") == shape("my_function(b, 'x')")
    assert shape("my_function(a, 'x')") != shape("my_function(d, 'x')")
    assert shape("my_function(a, 'x')") != shape("my_function(a, 'y')")
    assert shape("d * 2") == shape("d * 3")
    assert shape("d * 2") != shape("d * 30")
    assert shape("round(d, 1)") != shape("round(d, 2)")
