"""What a snapshot keeps of columns whose type changed, and what it refuses, without a Spark."""

from __future__ import annotations

import pytest

from dbt.adapters.tapestry.snapshot_columns import Snapshot, keeps, not_constant, widened
from tapestry.errors import ConfigurationError

ADDED = ["dbt_valid_from", "dbt_valid_to", "dbt_scd_id", "dbt_updated_at", "dbt_is_deleted"]


@pytest.mark.parametrize(
    ("given", "kept", "fits"),
    [
        ("int", "bigint", True),
        ("bigint", "int", True),  # Delta says which value is too large
        ("int", "string", True),
        ("string", "int", False),  # '007'
        ("bigint", "double", False),
        ("int", "double", True),
        ("float", "double", True),
        ("double", "float", False),
        ("double", "int", False),
        ("decimal(5,2)", "decimal(10,4)", True),
        ("decimal(10,4)", "decimal(10,2)", False),
        ("decimal(10,0)", "bigint", True),
        ("decimal(10,2)", "bigint", False),
        ("bigint", "decimal(10,2)", True),
        ("date", "timestamp", True),
        ("timestamp", "date", False),
        ("timestamp_ntz", "timestamp", True),
        ("timestamp", "string", True),
        ("binary", "string", False),
        ("void", "array<int>", True),
        ("array<int>", "array<bigint>", True),
        ("array<double>", "array<float>", False),
        ("map<string,int>", "map<string,bigint>", True),
        ("struct<a:int,b:date>", "struct<A:bigint,b:timestamp>", True),
        ("struct<a:int,b:int>", "struct<a:int>", False),
        ("struct<a:int>", "int", False),
        ("no such type(", "NO such type(", True),
        ("no such type(", "int", False),
    ],
)
def test_keeps(given: str, kept: str, fits: bool) -> None:
    assert keeps(given, kept) is fits


def _snapshot(query: dict[str, str], table: dict[str, str] | None = None) -> Snapshot:
    return Snapshot({"relation_name": "s.kept"}, query, table)


def test_what_is_compared() -> None:
    table = {"ID": "int", "v": "string"}
    snapshot = _snapshot({"id": "int", "V": "int", "new col": "int"}, table)
    found = snapshot.compared(["id", "v", "New Col", "lower(v)"])
    assert [(one["name"] or one["sql"], one["type"], one["added"]) for one in found] == [
        ("`id`", "", ""),
        ("`V`", "string", ""),
        ("`new col`", "", "yes"),
        ("lower(v)", "", ""),
    ]
    assert len(snapshot.compared("all")) == 3


@pytest.mark.parametrize(
    ("query", "table", "words"),
    [
        ({"a": "int", "DBT_Unique_Key": "int"}, None, "a name that a snapshot needs for itself"),
        ({"dbt_change_type": "int"}, None, "dbt_change_type of the query"),
        ({"dbt_scd_id": "int"}, None, "dbt_scd_id of the query"),
        ({"a": "timestamp"}, {"a": "date"}, "a is timestamp in the query and date in the snapshot"),
        ({"m": "array<map<string,int>>"}, None, "Spark compares no maps"),
    ],
)
def test_what_is_refused(query: dict[str, str], table: dict[str, str] | None, words: str) -> None:
    snapshot = _snapshot(query, table)

    def look() -> None:
        snapshot.refuse_names(ADDED)
        snapshot.compared("all")

    with pytest.raises(ConfigurationError, match=words):
        look()


def test_names_that_dbt_writes_without_quotes() -> None:
    with pytest.raises(ConfigurationError, match="valid-from is no plain name"):
        _snapshot({"a": "int"}).refuse_names(["valid-from", "valid_to"])


@pytest.mark.parametrize(
    ("given", "kept", "advice"),
    [
        ("struct<n:int,a:int>", "struct<a:int>", "ADD COLUMNS (`c`.`n` INT FIRST)"),
        (
            "map<string,struct<a:int,m:int,z:int>>",
            "map<string,struct<a:int,z:int>>",
            "ADD COLUMNS (`c`.value.`m` INT AFTER `a`)",
        ),
        ("decimal(12,4)", "decimal(10,2)", "ALTER COLUMN `c` TYPE DECIMAL(12, 4)"),
        ("decimal(10,4)", "decimal(10,2)", None),  # fewer digits before the point
        ("struct<a:int>", "struct<a:int,b:int>", None),
        ("struct<a:bigint,b:int>", "struct<a:string>", None),
        ("timestamp", "date", None),
        ("no such type(", "int", None),
    ],
)
def test_advice_names_a_statement(given: str, kept: str, advice: str | None) -> None:
    found = widened("s.kept", "c", given, kept)
    if advice is None:
        assert found is None
    else:
        assert str(found).endswith(f"ALTER TABLE `s`.`kept` {advice}")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("timestamp'9999-12-31'", None),
        ("to_date('9999-12-31')", None),
        ("null", None),
        ("current_timestamp", "reads the clock"),
        ("date_add(current_date(), 1)", "reads the clock"),
        ("read_at + interval 1 year", "names a column, read_at"),
        ("(select max(at) from t)", "names a column, at"),
        ("cast('today' as date)", "is not the same value on every run: 'today'"),
        ("date_add(date'2020-01-01', cast(rand() as int))", "is not the same value on every run"),
        ("9999-12-31 23", "is not the same value on every run: the SQL could not be read"),
    ],
)
def test_an_open_end_is_a_constant(text: str, why: str | None) -> None:
    found = not_constant(text)
    assert found == why or (why is not None and found is not None and found.startswith(why))


@pytest.mark.parametrize(
    ("kind", "table", "fits"),
    [
        ("timestamp", None, True),
        ("date", None, True),
        ("string", None, False),
        ("int", {"dbt_valid_to": "timestamp"}, False),
        ("string", {"DBT_VALID_TO": "string"}, True),  # as it was made once
    ],
)
def test_an_open_end_is_a_time(kind: str, table: dict[str, str] | None, fits: bool) -> None:
    snapshot = _snapshot({}, table)
    if fits:
        snapshot.refuse_open_end("null", "dbt_valid_to", lambda _: {"open_end": kind})
        return
    with pytest.raises(ConfigurationError, match=f"dbt_valid_to_current: null is {kind}, no time"):
        snapshot.refuse_open_end("null", "dbt_valid_to", lambda _: {"open_end": kind})
