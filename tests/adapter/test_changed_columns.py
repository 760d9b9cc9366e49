"""What an incremental model's table is altered by, and what is refused, without a Spark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from dbt.adapters.tapestry.changed_columns import WIDENING, ChangedColumns
from dbt.adapters.tapestry.column_mapping import MODE
from tapestry.errors import QueryChanged

TABLE = {"id": "int", "Gone": "string", "d": "date"}
SAME = {"ID": "int", "gone": "varchar(3)", "d": "date"}
MAPPED, WIDE = {MODE: "name"}, {WIDENING: "true"}


def _changed(rule: str, query: Mapping[str, str], **more: Any) -> ChangedColumns:
    return ChangedColumns(rule, query, TABLE, "s.t", "models/m.sql", **more)


@pytest.mark.parametrize("rule", ["ignore", "fail", "append_new_columns", "sync_all_columns"])
@pytest.mark.parametrize("promised", [False, True])
def test_letters_and_lengths_are_no_change(rule: str, promised: bool) -> None:
    assert _changed(rule, SAME, promised=promised).statements() == []


@pytest.mark.parametrize(
    ("rule", "query", "more", "expected"),
    [
        ("ignore", {**SAME, "new": "int"}, {}, []),
        (
            "append_new_columns",
            {"id": "int", "d": "date", "n`x": "map<string,int>", "m": "void"},
            {},
            ["alter table s.t add columns (`n``x` map<string,int>, `m` void)"],
        ),
        (
            "sync_all_columns",
            {"id": "int", "d": "date", "new": "int"},
            {"properties": MAPPED},
            ["alter table s.t add columns (`new` int)", "alter table s.t drop columns (`Gone`)"],
        ),
        (
            "sync_all_columns",
            {**SAME, "ID": "bigint"},
            {"properties": WIDE},
            ["alter table s.t alter column `id` type bigint"],
        ),
        ("append_new_columns", {**SAME, "ID": "bigint"}, {}, []),
        ("append_new_columns", {**SAME, "ID": "smallint"}, {}, []),
    ],
)
def test_statements(
    rule: str, query: dict[str, str], more: dict[str, Any], expected: list[str]
) -> None:
    assert _changed(rule, query, **more).statements() == expected


@pytest.mark.parametrize(
    ("rule", "query", "more", "told"),
    [
        ("fail", {**SAME, "new": "int"}, {}, "a new column new"),
        ("fail", {**SAME, "ID": "bigint"}, {}, "id as bigint instead of int"),
        ("ignore", {"id": "int", "d": "date"}, {}, "append_new_columns keeps such a column"),
        ("sync_all_columns", {"id": "int", "d": "date"}, {}, MODE),
        ("sync_all_columns", {"id": "int", "d": "date"}, {"properties": None}, "of this format"),
        ("sync_all_columns", {**SAME, "ID": "bigint"}, {}, WIDENING),
        ("append_new_columns", {**SAME, "ID": "bigint"}, {"promised": True}, "as the contract has"),
    ],
)
def test_refused(rule: str, query: dict[str, str], more: dict[str, Any], told: str) -> None:
    with pytest.raises(QueryChanged, match=told) as error:
        _changed(rule, query, **more).statements()
    assert len(str(error.value).splitlines()) <= 5


@pytest.mark.parametrize("rule", ["ignore", "append_new_columns", "sync_all_columns"])
@pytest.mark.parametrize(
    ("column", "now"),
    [("ID", "double"), ("ID", "decimal(2,1)"), ("d", "timestamp"), ("ID", "date")],
)
def test_what_would_be_cut_in_silence(rule: str, column: str, now: str) -> None:
    with pytest.raises(QueryChanged, match=r"CAST\(… AS"):
        _changed(rule, {**SAME, column: now}).statements()


def test_a_value_that_is_asked_whether_it_fits() -> None:
    changed = _changed("ignore", {**SAME, "ID": "double"}, by_value=True)
    assert changed.statements() == []
    assert changed.fitted() == ["id"]
    text = str(changed.fitting("select 1 -- end"))
    assert "try_cast(try_cast(`ID` as int) as double) = `ID`" in text
    assert text.endswith(", `gone`, `d` from (\nselect 1 -- end\n) as model_rows")
    assert _changed("ignore", SAME, by_value=True).fitting("select 1") is None


@pytest.mark.parametrize("promised", [False, True])
def test_a_type_that_is_not_asked_value_by_value(promised: bool) -> None:
    query = {**SAME, "ID": "double" if promised else "array<int>"}
    with pytest.raises(QueryChanged, match=r"CAST\(… AS"):
        _changed("ignore", query, by_value=True, promised=promised).statements()
