"""Which texts are a column, how they stand in SQL, and what is said of those Delta cannot keep."""

from __future__ import annotations

import pytest

from dbt.adapters.tapestry.column_mapping import explained
from dbt.adapters.tapestry.column_names import column_sql, key_sql, name_sql, time_sql
from tapestry.errors import ConfigurationError

COLUMNS = ["Id", "order-no", "order no", "a.b", "Größe", "ba`ck", "1st", "sum(x)", "s"]


@pytest.mark.parametrize(
    ("text", "sql"),
    [
        ("order-no", "`order-no`"),
        ("ORDER NO", "`order no`"),
        ("a.b", "`a.b`"),
        ("größe", "`Größe`"),
        ("id", "`Id`"),
        ("ba`ck", "`ba``ck`"),
        ("`ba``ck`", "`ba``ck`"),
        ("1st", "`1st`"),
        ("sum(x)", "`sum(x)`"),
        ("sum(y)", "sum(y)"),
        ("s.field", "s.field"),
        ("lower(`order-no`)", "lower(`order-no`)"),
        ("`new`", "`new`"),
    ],
)
def test_a_column_or_an_expression(text: str, sql: str) -> None:
    assert column_sql(text, COLUMNS) == sql


def test_the_same_letters_come_first() -> None:
    assert column_sql("id", ["Id", "id"]) == "`id`"


@pytest.mark.parametrize(("text", "sql"), [("a b", "`a b`"), ("`a b`", "`a b`"), ("a", "`a`")])
def test_a_name(text: str, sql: str) -> None:
    assert name_sql(text) == sql


@pytest.mark.parametrize(
    ("text", "sql"),
    [
        ("ts", "ts"),
        ("read-at", "`read-at`"),
        ("gelesen für", "`gelesen für`"),
        ("`read at`", "`read at`"),
        ("cast(a as timestamp)", "cast(a as timestamp)"),
        ("case when a is null then b else a end", "case when a is null then b else a end"),
        ("meta.read_at", "meta.read_at"),
    ],
)
def test_an_event_time(text: str, sql: str) -> None:
    assert time_sql(text) == sql


@pytest.mark.parametrize("text", ["s.field", "`order-no`", "S", "s.`odd field`"])
def test_a_key(text: str) -> None:
    assert key_sql("unique_key", text, COLUMNS, "db.t")


@pytest.mark.parametrize("text", ["order_no", "order-nr", "concat(s, Id)", "x.field", "a - b"])
def test_no_key(text: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        key_sql("unique_key", text, COLUMNS, "db.t")
    assert f"unique_key: {text} is no column" in str(refused.value)
    assert "db.t" in str(refused.value)


RAW = (
    "[DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES] Found invalid character(s) among ' ,;{}()\\n\\t='"
    " in the column names of your schema.\nInvalid column names: a b, c;d.\nPlease use other"
    " characters and try again.\nAlternatively, enable Column Mapping to keep using these"
    " characters."
)


@pytest.mark.parametrize(
    ("sql", "table"),
    [
        ('/* {"app": "dbt"} */\n  create or replace table db.t\n using delta', "db.t"),
        ("create table `db`.`t-1` using delta as select 1", "`db`.`t-1`"),
        ("alter table db.t add columns (`a b` int)", "db.t"),
        ("insert overwrite table db.t select 1", "db.t"),
        ("INSERT INTO db.t (a) select 1", "db.t"),
        ("merge into db.t as x using y", "db.t"),
    ],
)
def test_deltas_words_about_names(sql: str, table: str) -> None:
    said = explained(RAW, sql)
    assert said.startswith(f"column a b, c;d of {table}: ")
    assert "tblproperties: {delta.columnMapping.mode: name}" in said
    there = f"ALTER TABLE {table} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
    assert (there in said) == ("create" not in sql)


def test_deltas_words_about_partitions() -> None:
    said = explained("[DELTA_INVALID_PARTITION_COLUMN_NAME] Found partition", "create table db.t")
    assert said.startswith("partition_by of db.t: ")
    assert "delta.columnMapping.mode" in said


def test_other_words_stay() -> None:
    assert explained("[DIVIDE_BY_ZERO] no", "create table t as select 1") == "[DIVIDE_BY_ZERO] no"
