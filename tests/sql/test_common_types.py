"""Types that are certain, and what Spark widens two of them to."""

from __future__ import annotations

import pytest
from sqlglot import exp, maybe_parse

from tapestry.errors import Refusal
from tapestry.sql import Catalog, Column, Source, rewrite
from tapestry.sql.facts.common_types import common_type, shape_of, type_of
from tapestry.sql.work import bounded, spent


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


def _arms(kinds: list[str]) -> tuple[str, Catalog]:
    """A UNION ALL over a source for each type of its column c."""
    columns = [(Column("c", kind), Column("ts", "timestamp")) for kind in kinds]
    sources = {f"s{n}": Source(f"s{n}", some, "ts") for n, some in enumerate(columns)}
    return " union all ".join(f"select c from {name}" for name in sources), Catalog(sources)


@pytest.mark.parametrize("around", ["{}", "select c from ({}) q where c > 1"])
def test_an_arm_is_cast_once_however_often_its_union_is_widened(around: str) -> None:
    text, catalog = _arms(["int", "bigint", "decimal(20,1)", "decimal(22,2)", "double", "int"])
    rewriting = rewrite(around.format(text), catalog)
    values = [block.select[0] for arm in rewriting.arms for block in arm.blocks]
    assert {value.sql("spark") for value in values} == {
        *(f"CAST({alias} AS DOUBLE)" for alias in ("s0.c", "s1.c", "s2.c", "s3.c", "s5.c")),
        "s4.c",
    }


def test_arms_in_parentheses_are_widened_first() -> None:
    text, catalog = _arms(["int", "string", "bigint"])
    first, second, third = text.split(" union all ")
    with pytest.raises(Refusal, match="no type that is certain"):
        rewrite(f"select c from ({first} union all ({third} union all {second})) q", catalog)
    with pytest.raises(Refusal, match="no type that is certain"):
        rewrite(f"{first} union all ({third} union all {second})", catalog)
    assert rewrite(text, catalog).columns == ("c",)


def test_the_types_of_arms_are_found_out_once() -> None:
    """The work on types grows as the arms do: 3 times as many, not 9 times."""
    costs = []
    for arms in (10, 30):
        text, catalog = _arms([f"decimal({3 + n},2)" for n in range(arms)])
        with bounded(text):
            rewrite(text, catalog)
            costs.append(spent())
    assert costs[1] < 4 * costs[0]
