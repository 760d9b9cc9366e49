"""The content of a row as expressions that Spark can group and join by.

Rows are compared as bags (semantics, section 3), so their content needs an equality that treats
NULLs as equal. Spark groups and joins (``<=>``) every type but MAP and VARIANT:

- a MAP becomes its entries in key order: two maps are equal iff these arrays are;
- a VARIANT becomes its JSON text and its schema: the text alone would mix ``1`` and ``1.0``;
- inside structs and arrays the same holds for the parts.

Any other column is used itself, so that predicates on it reach the file statistics. Floating point
follows Spark's grouping: NaN equals NaN, -0.0 equals 0.0.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tapestry.quoting import Sql, identifier, string
from tapestry.sql.catalog import Column

_PLAIN = re.compile(
    r"boolean|tinyint|smallint|int|bigint|float|double|decimal(\(\d+, ?\d+\))?|string"
    r"|(var)?char\(\d+\)|binary|date|timestamp(_ntz|_ltz)?"
)

FLOATING = ("float", "double")
"""Types whose sums depend on the order of the rows."""


def column_list(columns: Sequence[Column], alias: str = "") -> str:
    """Return the columns by name, separated by commas, qualified with ``alias``."""
    prefix = f"{alias}." if alias else ""
    return ", ".join(prefix + identifier(column.name) for column in columns)


def keys(columns: Sequence[Column], alias: str = "") -> list[str]:
    """Return one expression a column; rows have the same content iff all of them are ``<=>``."""
    prefix = f"{alias}." if alias else ""
    return [canonical(prefix + identifier(column.name), column.type) for column in columns]


def named_keys(columns: Sequence[Column], alias: str = "") -> str:
    """Return the keys as select items ``_k0, _k1, …``."""
    return ", ".join(f"{key} AS _k{i}" for i, key in enumerate(keys(columns, alias)))


def key_names(columns: Sequence[Column], alias: str = "") -> str:
    """Return the names that ``named_keys`` gives."""
    prefix = f"{alias}." if alias else ""
    return ", ".join(f"{prefix}_k{i}" for i in range(len(columns)))


def same_content(
    columns: Sequence[Column], left: str, right: str, named: Sequence[Column] = ()
) -> str:
    """Return the condition that rows of ``left`` and ``right`` have the same content.

    ``named`` are the columns of ``right``, where they have other names there.
    """
    pairs = zip(keys(columns, left), keys(named or columns, right), strict=True)
    return " AND ".join(f"{one} <=> {other}" for one, other in pairs)


def same_keys(columns: Sequence[Column], left: str, right: str) -> str:
    """Return the condition that ``left`` has the content with the named keys of ``right``."""
    items = enumerate(keys(columns, left))
    return " AND ".join(f"{key} <=> {right}._k{i}" for i, key in items)


def content_hash(columns: Sequence[Column], alias: str = "") -> str:
    """Return SQL for 128 bits as text, the same iff rows have equal content (but for chance).

    Spark's hash passes over NULL and runs through nested values as if they were flat: (1, NULL)
    and (NULL, 1) have one hash. So it is also computed over which parts are NULL, and over nested
    values as JSON.
    """
    pairs = list(zip(keys(columns, alias), columns, strict=True))
    parts = [f"to_json(struct({key} AS v))" if _nested(c.type) else key for key, c in pairs]
    parts += [f"isnull({key})" for key, _ in pairs] if len(pairs) > 1 else []
    listed = ", ".join(parts)
    return f"concat_ws('-', hex(xxhash64({listed})), hex(xxhash64('id', {listed})))"


def hash_decides(columns: Sequence[Column]) -> bool:
    """Return whether rows have the same content if and only if ``content_hash`` is the same.

    Not where Spark holds two values equal that JSON or bytes tell apart: -0.0 and 0.0 in an array,
    texts with a collation.
    """
    return all(_PLAIN.fullmatch(column.type.strip().lower()) for column in columns)


def _nested(type_text: str) -> bool:
    return any(word in type_text.lower() for word in ("<", "variant"))


def canonical(expression: str, type_text: str, depth: int = 0) -> str:
    """Return a comparable expression that is equal for two values iff the values are.

    >>> canonical("m", "map<string,int>")
    'array_sort(map_entries(m))'
    >>> canonical("a", "array<int>")
    'a'
    """
    text = type_text.strip()
    lower = text.lower()
    if "map<" not in lower and "variant" not in lower:
        return expression
    if lower == "variant":
        pair = f"to_json({expression}) AS json, schema_of_variant({expression}) AS type"
        return f"IF({expression} IS NULL, NULL, struct({pair}))"
    if lower.startswith("map<"):
        key, value = _split(_inside(text))
        entries = f"map_entries({expression})"
        if canonical("e", value) != "e":
            name = f"e{depth}"
            part = canonical(f"{name}.value", value, depth + 1)
            entry = f"struct({canonical(f'{name}.key', key, depth + 1)} AS key, {part} AS value)"
            entries = f"transform({entries}, {name} -> {entry})"
        return f"array_sort({entries})"
    if lower.startswith("array<"):
        name = f"e{depth}"
        part = canonical(name, _inside(text), depth + 1)
        return f"transform({expression}, {name} -> {part})"
    if lower.startswith("struct<"):
        items = []
        for field in _split(_inside(text)):
            name, _, field_type = field.partition(":")
            name = name.strip().strip("`")
            value = canonical(f"{expression}.{identifier(name)}", field_type, depth)
            items.append(f"{string(name)}, {value}")
        return f"IF({expression} IS NULL, NULL, named_struct({', '.join(items)}))"
    return expression


def _inside(text: str) -> str:
    return text[text.index("<") + 1 : text.rindex(">")]


def _split(text: str) -> list[str]:
    """Split a type's parameters at the commas of the outermost level."""
    parts, depth, start = [], 0, 0
    for position, letter in enumerate(text):
        if letter in "<(":
            depth += 1
        elif letter in ">)":
            depth -= 1
        elif letter == "," and depth == 0:
            parts.append(text[start:position])
            start = position + 1
    return [*parts, text[start:]]


def nearly_equal(name: str, pair: Sql, within: str = "") -> str:
    """Return SQL: whether both values of a pair are NULL, equal, or finite and nearly equal.

    ``pair`` is the window of the two. They may differ by one part in 10^9, or by ``within`` (SQL).
    """
    column = identifier(name)
    low, high, many = (f"{one}({column}) {pair}" for one in ("min", "max", "count"))
    most = f"1e-9D * greatest(abs({low}), abs({high}))"
    most = f"greatest({most}, {within})" if within else most
    finite = f"{high} < double('infinity') AND {low} > double('-infinity')"
    return (
        f"({many} = 0 OR ({many} = 2 AND ({low} <=> {high}"
        f" OR ({finite} AND {high} - {low} <= {most}))))"
    )
