"""The hash of an answer's values: it stands for an answer that somebody has erased.

Two rows have one hash if and only if Spark's ``<=>`` holds for all of their values (but for chance:
sha2 with 256 bits). So it is made of a text that no other values have: every part begins with its
length, NULL is a part of its own, and a value has one text under every setting of a session and
after its column was widened: instants are counted, numbers are written without an exponent or
trailing zeros, 0.0 is -0.0, and NaN is NaN, in arrays and structs too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tapestry.errors import Refusal
from tapestry.quoting import identifier
from tapestry.runs.engine.column_types import ColumnType, read_kind, sql_type

_DECIMAL = re.compile(r"decimal\(\d+, ?(\d+)\)")
_WHOLE = ("tinyint", "smallint", "int", "bigint")
EXACT = "1e15"
"""Whole numbers below this are written as such, whether DOUBLE or not."""


def value_hash(columns: Sequence[str], types: Mapping[str, str], alias: str) -> str:
    """Return SQL for the hash of these columns of a relation, read as a table's types.

    ``types`` are by names in lower case, as Spark names them. Raises Refusal for a text with a
    collation: Spark 4.1 gives no common form of several equal texts.
    """
    parts = []
    for column in columns:
        told = types[column.lower()]
        if " collate " in told.lower():
            raise Refusal(
                f"{column} is {told}: no hash can stand for answers that were deleted",
                column,
                "write CAST(… AS STRING) for it, or run with --full-refresh",
                code="collated-hash",
            )
        value = f"CAST({identifier(alias)}.{identifier(column)} AS {sql_type(told)})"
        parts.append(_part(_text(value, read_kind(told.lower()))))
    return f"sha2(concat({', '.join(parts)}), 256)"


def _part(text: str) -> str:
    """Return SQL for a text preceded by its length; NULL is `n`."""
    return f"coalesce(concat(length({text}), ':', {text}), 'n')"


def _text(value: str, kind: ColumnType, depth: int = 0) -> str:
    """Return SQL for a value as text; NULL is NULL."""
    name = kind.name
    decimal = _DECIMAL.fullmatch(name)
    if decimal:
        return _short(value, int(decimal[1]))
    if name in _WHOLE:
        return _short(value, 0)
    if name in ("float", "double"):
        return _floating(f"CAST({value} AS DOUBLE)")
    if name == "binary":
        return f"hex({value})"
    if name in ("timestamp", "timestamp_ltz"):
        return f"CAST(unix_micros({value}) AS STRING)"
    if name == "date":
        return f"CAST(CAST({value} AS TIMESTAMP_NTZ) AS STRING)"
    if name == "array" and kind.parts:
        ((_, element),) = kind.parts
        item = f"_e{depth}"
        part = _part(_text(item, element, depth + 1))
        return f"array_join(transform({value}, {item} -> {part}), '')"
    if name == "struct" and kind.parts:
        fields = [
            _part(_text(f"{value}.{identifier(field)}", part, depth)) for field, part in kind.parts
        ]
        return f"IF({value} IS NULL, NULL, concat({', '.join(fields)}))"
    return f"CAST({value} AS STRING)"


def _short(value: str, scale: int) -> str:
    """Return SQL for a DECIMAL or integer as text; `format_number` never writes an exponent."""
    if not scale:
        return f"format_number({value}, 0)"
    return f"rtrim('.', rtrim('0', format_number({value}, {scale})))"


def _floating(value: str) -> str:
    whole = f"format_number(CAST({value} AS BIGINT), 0)"
    return (
        f"IF(abs({value}) < {EXACT} AND floor({value}) = {value}, {whole}, CAST({value} AS STRING))"
    )
