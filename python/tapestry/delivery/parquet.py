"""Rows as Parquet with the types of the model's table; pyarrow is imported where it is needed."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from tapestry.delivery.retry import Refused

_SIMPLE = {
    "string": "string",
    "boolean": "bool_",
    "tinyint": "int8",
    "smallint": "int16",
    "int": "int32",
    "bigint": "int64",
    "float": "float32",
    "double": "float64",
    "date": "date32",
}


def as_parquet(rows: Sequence[str], columns: Sequence[tuple[str, str]]) -> bytes:
    """One Parquet file; Refused for a type that it cannot take, and without pyarrow."""
    try:
        import pyarrow as pa
        import pyarrow.parquet
    except ModuleNotFoundError as error:
        raise Refused("Parquet needs pyarrow: pip install 'dbt-tapestry[local]'") from error
    schema = pa.schema([(name, arrow_type(kind)) for name, kind in columns])
    parsed = [json.loads(row, parse_float=Decimal) for row in rows]
    try:
        table = pa.table(
            [
                pa.array([_value(row.get(name), schema.field(name).type) for row in parsed], kind)
                for name, kind in zip(schema.names, schema.types, strict=True)
            ],
            schema=schema,
        )
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise Refused(f"the rows do not fit into Parquet: {str(error)[:200]}") from error
    out = io.BytesIO()
    pyarrow.parquet.write_table(table, out)
    return out.getvalue()


def _value(value: Any, kind: Any) -> Any:
    """A value of JSON as Arrow takes one of this type."""
    from pyarrow import types

    if value is None:
        return None
    if types.is_date(kind):
        return date.fromisoformat(value)
    if types.is_timestamp(kind):
        return datetime.fromisoformat(value.replace("Z", "+00:00"))
    if types.is_decimal(kind):
        return Decimal(value)
    if types.is_floating(kind):
        return float(value)  # NaN and the infinities come as text
    if types.is_list(kind):
        return [_value(one, kind.value_type) for one in value]
    if types.is_struct(kind):
        return {field.name: _value(value.get(field.name), field.type) for field in kind}
    return value


def arrow_type(kind: str) -> Any:
    """The Arrow type of one of Spark's; Refused for one that JSON does not carry over exactly."""
    import pyarrow as pa

    text = kind.strip()
    lower = text.lower()
    if lower in _SIMPLE:
        return getattr(pa, _SIMPLE[lower])()
    if lower in ("timestamp", "timestamp_ntz"):
        return pa.timestamp("us", tz="UTC" if lower == "timestamp" else None)
    if found := re.fullmatch(r"decimal\((\d+),\s*(\d+)\)", lower):
        return pa.decimal128(int(found[1]), int(found[2]))
    if lower.startswith("array<"):
        return pa.list_(arrow_type(text[6:-1]))
    if lower.startswith("struct<"):
        parts = (_named(part) for part in _split(text[7:-1]))
        return pa.struct([(name, arrow_type(inner)) for name, inner in parts])
    raise Refused(f"a column of type {kind} does not fit into Parquet here; use format: jsonl")


def _named(part: str) -> tuple[str, str]:
    name, _, kind = part.partition(":")
    return name.strip().strip("`"), kind


def _split(text: str) -> list[str]:
    """The fields of a struct: the commas outside of inner brackets."""
    parts, depth, start = [], 0, 0
    for place, letter in enumerate(text):
        depth += (letter in "<(") - (letter in ">)")
        if letter == "," and depth == 0:
            parts.append(text[start:place])
            start = place + 1
    return [*parts, text[start:]]
