"""Descriptions as Spark tells them, and what of it is theirs."""

from __future__ import annotations

from dbt.adapters.tapestry.descriptions import changed_columns, described, without_comment

ROWS = [
    ("id", "int", "a key"),
    ("Said", "string", None),
    ("# Partition Information", "", ""),
    ("id", "int", "a partition"),
    ("", "", ""),
    ("# Detailed Table Information", "", ""),
    ("Name", "s.t", ""),
    ("Comment", "Type: VIEW\n |-- a: int", ""),
]


def test_descriptions_of_a_table_and_its_columns() -> None:
    comment, columns = described(ROWS)
    assert comment == "Type: VIEW\n |-- a: int"
    assert columns == {"id": "a key", "Said": ""}
    assert described([("Comment", "string", "of a column")]) == ("", {"Comment": "of a column"})


def test_what_changed_is_found_in_any_case() -> None:
    there = {"id": "a key", "Said": "", "Id2": "x"}
    wanted = {
        "ID": {"description": "a key"},
        "said": {"description": "(\\d+)"},
        "Id2": {"description": ""},
        "gone": {"description": "y"},
    }
    assert changed_columns(wanted, there) == {
        "Said": {"description": "(\\d+)", "quote": True},
        "Id2": {"description": "", "quote": True},
    }


def test_a_description_is_no_kind_of_table() -> None:
    told = "Owner: me\nType: MANAGED\nProvider: delta\nComment: Type: VIEW\nProvider: hudi\n"
    assert without_comment(told) == "Owner: me\nType: MANAGED\nProvider: delta"
