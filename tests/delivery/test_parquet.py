"""Parquet files have the types of the table."""

from __future__ import annotations

import io

import pytest

from tapestry.delivery.parquet import arrow_type, as_parquet
from tapestry.delivery.retry import Refused


def test_parquet_has_the_types_of_the_table() -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as parquet

    columns = (
        ("i", "int"),
        ("s", "string"),
        ("d", "decimal(20,2)"),
        ("at", "timestamp"),
        ("day", "date"),
        ("list", "array<struct<a:bigint,`b c`:array<string>>>"),
    )
    rows = [
        '{"i": 1, "s": "x", "d": 123456789012345678.25, "at": "2026-01-01T00:00:00.000001Z",'
        ' "day": "2026-01-02", "list": [{"a": 5, "b c": ["y", null]}]}',
        '{"i": null, "s": null, "d": null, "at": null, "day": null, "list": null}',
    ]
    table = parquet.read_table(io.BytesIO(as_parquet(rows, columns)))
    assert table.schema.field("at").type == pa.timestamp("us", tz="UTC")
    assert table.schema.field("d").type == pa.decimal128(20, 2)
    first, second = table.to_pylist()
    assert str(first["d"]) == "123456789012345678.25"
    assert (first["at"].isoformat(), str(first["day"])) == (
        "2026-01-01T00:00:00.000001+00:00",
        "2026-01-02",
    )
    assert first["list"] == [{"a": 5, "b c": ["y", None]}]
    assert set(second.values()) == {None}
    assert parquet.read_table(io.BytesIO(as_parquet([], columns))).num_rows == 0
    with pytest.raises(Refused, match="map<string,int>"):
        arrow_type("map<string,int>")
