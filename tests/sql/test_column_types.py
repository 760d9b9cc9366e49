"""Columns of sources with odd names and types: read, or refused with the column in the message."""

from __future__ import annotations

import pytest

from tapestry.errors import Refusal
from tapestry.sql import Catalog, Column, Source, rewrite


def _catalog(column: Column) -> Catalog:
    columns = (Column("id", "bigint"), column, Column("ts", "timestamp"))
    return Catalog({"db.m": Source("db.m", columns, "ts")})


@pytest.mark.parametrize(
    "kind",
    [
        "void",
        "struct<`a'`:int>",
        "struct<my field:int>",
        "map<string,struct<a:int>>",
        "interval day to second",
        f"{'array<' * 100}int{'>' * 100}",
        f"struct<{','.join(f'f{n}:struct<a:int>' for n in range(500))}>",
    ],
)
def test_types_that_are_read(kind: str) -> None:
    assert rewrite("select * from db.m", _catalog(Column("x", kind))).columns == ("id", "x", "ts")


@pytest.mark.parametrize(
    ("column", "reason"),
    [
        (Column("*", "int"), "is called \\*"),
        (Column("x", "struct<a':int>"), "cannot be read"),
        (Column("x", f"{'struct<a:' * 20_000}int{'>' * 20_000}"), "more than 100 types"),
    ],
)
def test_columns_that_no_query_can_speak_of(column: Column, reason: str) -> None:
    with pytest.raises(Refusal, match=reason) as refused:
        rewrite("select id from db.m", _catalog(column))
    assert f"db.m: {column.name}" in refused.value.where
