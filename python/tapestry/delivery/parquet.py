"""Rows as Parquet with the types of the model's table; pyarrow is imported where it is needed."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
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
        import pyarrow as pa  # type: ignore[import-untyped]
        import pyarrow.json  # type: ignore[import-untyped]
        import pyarrow.parquet  # type: ignore[import-untyped]
    except ModuleNotFoundError as error:
        raise Refused("Parquet needs pyarrow: pip install 'dbt-tapestry[local]'") from error
    schema = pa.schema([(name, arrow_type(kind)) for name, kind in columns])
    options = pyarrow.json.ParseOptions(
        explicit_schema=schema, unexpected_field_behavior="error", newlines_in_values=False
    )
    try:
        if rows:
            data = io.BytesIO("\n".join(rows).encode())
            block = pyarrow.json.ReadOptions(block_size=max(1 << 20, max(map(len, rows)) * 4 + 1))
            table = pyarrow.json.read_json(data, read_options=block, parse_options=options)
            table = table.select(schema.names).cast(schema)
        else:
            table = schema.empty_table()
    except pa.ArrowException as error:
        raise Refused(f"the rows do not fit into Parquet: {str(error)[:200]}") from error
    out = io.BytesIO()
    pyarrow.parquet.write_table(table, out)
    return out.getvalue()


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
