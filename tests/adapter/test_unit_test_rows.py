"""Rows of unit tests as SQL."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from dbt.adapters.tapestry.unit_test_rows import alike, row_as_sql, value_as_sql
from tapestry.errors import ConfigurationError
from tapestry.runs.engine.written_values import UnfitError

TYPES = {"id": "int", "price": "decimal(5,2)", "marks": "map<string,int>", "name": "varchar(3)"}
TEST = {"resource_type": "unit_test", "original_file_path": "models/tests.yml"}


def test_values_of_yaml() -> None:
    row = {"ID": 1, "price": 1.5, "marks": {"it's": None}, "name": None}
    assert row_as_sql(row, TYPES, TEST, lambda: dt.timezone.utc) == {
        "id": "cast('1' as int)",
        "price": "cast('1.5' as decimal(5,2))",
        "marks": "cast(map(cast(('it' || CAST(X'27' AS STRING) || 's') as string),"
        " cast(null as int)) as map<string,int>)",
        "name": "cast(null as varchar(3))",
    }


def test_a_changed_row_of_a_rule() -> None:
    given = {"resource_type": "model", "name": "stocks"}
    row = {"_CHANGE_TYPE": "insert", "id": 1, "_commit_version": 7}
    assert row_as_sql(row, TYPES, given, lambda: dt.timezone.utc) == {
        "id": "cast('insert' as string) as `_change_type`, cast('7' as bigint) as"
        " `_commit_version`, cast(null as timestamp) as `_commit_timestamp`, cast('1' as int)"
    }
    only = row_as_sql({"_change_type": "delete"}, TYPES, given, lambda: dt.timezone.utc)
    assert only["id"].endswith(", cast(null as int)")
    with pytest.raises(ConfigurationError, match="_change_type"):
        row_as_sql(row, TYPES, TEST, lambda: dt.timezone.utc)


@pytest.mark.parametrize(
    ("value", "kind", "sql"),
    [
        (True, "string", "cast('true' as string)"),
        (1, "boolean", "cast('true' as boolean)"),
        (dt.date(2026, 1, 3), "timestamp", "cast('2026-01-03 00:00:00.000000' as timestamp)"),
        ([], "array<int>", "cast(array() as array<int>)"),
        (
            {"Y": [1]},
            "struct<x:int,y:array<int>>",
            "cast(named_struct('x', cast(null as int), 'y', cast(array(cast('1' as int))"
            " as array<int>)) as struct<x:int,y:array<int>>)",
        ),
        ("array(1, 2)", "array<int>", "cast(array(1, 2) as array<int>)"),
        (None, "map<int,int>", "cast(null as map<int,int>)"),
        *((empty, "decimal(5,2)", "cast(null as decimal(5,2))") for empty in ("", " ", "NULL")),
        ("", "boolean", "cast(null as boolean)"),
        ("", "string", "cast('' as string)"),
        ("null", "varchar(4)", "cast('null' as varchar(4))"),
    ],
)
def test_a_value(value: Any, kind: str, sql: str) -> None:
    assert value_as_sql(value, kind) == sql


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        *((1.9, "int"), (True, "int"), ("abc", "int"), (3000000000, "int"), (5, "date")),
        *((1.234, "decimal(5,2)"), ("toolong", "varchar(3)"), ("10:00", "timestamp")),
        *(({"a": 1}, "int"), ([1], "map<string,int>"), ({"z": 1}, "struct<x:int>")),
        *(({"a": "b"}, "map<string,int>"), ([1, "x"], "array<int>"), ({None: 1}, "map<int,int>")),
        *((7, "array<int>"), ([{"x": 1.5}], "array<struct<x:int>>")),
    ],
)
def test_a_value_of_another_type(value: Any, kind: str) -> None:
    with pytest.raises(UnfitError):
        value_as_sql(value, kind)


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"id": "one"}, "expect: column id (int): 'one' is no number"),
        (
            {"ide": 1},
            "Invalid column name: 'ide' in unit test fixture for expected output."
            " Accepted columns: id, price, marks, name",
        ),
        ({"id": 1, "ID": 2}, "the column ID is given twice"),
        ({None: ["x"]}, "a row has more cells than the header"),
    ],
)
def test_what_is_told_of_a_row(row: dict[Any, Any], told: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        row_as_sql(row, TYPES, TEST, lambda: dt.timezone.utc)
    assert told in str(raised.value)
    assert f"models/tests.yml, row {row}" in str(raised.value)
    of_values = "id" in row and len(row) == 1
    assert ("write a value of the column's type" in str(raised.value)) == of_values
    assert ("columns of its input only" in str(raised.value)) != of_values


def test_rows_that_name_different_columns() -> None:
    rows: list[dict[Any, Any]] = [{"a": 1, "b": 2}, {"B": 3, "c": 4}, {}, {"a": 5, "A": 6}]
    alike(rows)
    nothing = {"a": None, "b": None, "c": None}
    assert rows[:3] == [{"a": 1, "b": 2, "c": None}, {"a": None, "b": 3, "c": 4}, nothing]
    assert [list(row) for row in rows[:3]] == [["a", "b", "c"]] * 3
    assert rows[3] == {"a": 5, "A": 6}, "is refused where it is read"
