"""Renders rows of unit tests as SQL: each value is exactly one of its column's type, or refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timezone, tzinfo
from typing import Any

from dbt.adapters.tapestry.seeds import NULLS
from tapestry.errors import ConfigurationError
from tapestry.quoting import Sql, authored, identifier, string, type_text
from tapestry.runs.engine.column_types import ColumnType, read_kind, sql_type
from tapestry.runs.engine.written_values import UnfitError, reader_of
from tapestry.runs.model.declare import short

OF_FEED = {
    "_change_type": "string",
    "_commit_version": "bigint",
    "_commit_timestamp": "timestamp",
}
"""Columns that a row of a changed table may have besides its own, in a test of a rule."""
_NESTED = ("struct", "array", "map")
_TEXTS = ("string", "binary", "varchar", "char")
_OF_VALUES = (
    "write a value of the column's type; of a STRUCT, ARRAY or MAP a mapping, a list, or an"
    " expression of SQL in quotes"
)
Zone = Callable[[], tzinfo]


def row_as_sql(
    row: Mapping[Any, Any], types: Mapping[str, str], test: Mapping[str, Any], zone: Zone
) -> dict[str, Sql]:
    """Return the values of a row by the names of their columns in lower case.

    ``test`` is dbt's node: the unit test for a row of `expect:`, a model named as the input for
    one of `given:`. ``zone`` gives the session's. Raises ConfigurationError, which names file,
    input, row, column and value.
    """
    expected = test.get("resource_type") == "unit_test"
    place = "expect" if expected else f"given of {test.get('name')}"
    fixture = "expected output" if expected else f"'{test.get('name')}'"
    found: dict[str, Sql] = {}
    changes = not expected and any(str(name).lower() in OF_FEED for name in row)
    own, types = types, {**types, **OF_FEED} if changes else types
    for name, value in row.items():
        problem = _problem_of(name, types, found, fixture)
        hint = "let the row have columns of its input only, each once"
        if not problem:
            hint = _OF_VALUES
            try:
                found[name.lower()] = value_as_sql(value, types[name.lower()], zone)
            except UnfitError as why:
                problem = f"column {name} ({types[name.lower()]}): {short(value)} {why}"
        if problem:
            raise ConfigurationError(
                f"{place}: {problem}",
                where=f"{test.get('original_file_path') or ''}, row {dict(row)}",
                hint=hint,
            )
    return _with_feed(found, own) if changes else found


def _with_feed(found: dict[str, Sql], own: Mapping[str, str]) -> dict[str, Sql]:
    """Return a changed row's values; the columns of the feed stand before a column of the table.

    dbt names only those after a value.
    """
    nothing = {name: Sql(f"cast(null as {type_text(kind)})") for name, kind in OF_FEED.items()}
    feed = {name: found.pop(name, nothing[name]) for name in OF_FEED}
    name = next(iter(found), next(iter(own)))
    value = found.get(name, Sql(f"cast(null as {sql_type(own[name])})"))
    listed = ", ".join(f"{one} as {identifier(column)}" for column, one in feed.items())
    return {**found, name: Sql(f"{listed}, {value}")}


def _problem_of(name: Any, types: Mapping[str, str], found: Mapping[str, Any], fixture: str) -> str:
    if name is None:
        return "a row has more cells than the header"
    if name.lower() not in types:
        return (  # in dbt's words
            f"Invalid column name: '{name.lower()}' in unit test fixture for {fixture}."
            f" Accepted columns: {', '.join(types)}"
        )
    return f"the column {name} is given twice" if name.lower() in found else ""


def alike(rows: list[dict[Any, Any]]) -> None:
    """Give all rows the same columns in one order: what a row leaves out is NULL.

    dbt unites the rows by the places of their values, under the names of the first.
    """
    names: dict[Any, Any] = {}
    for row in rows:
        for name in row:
            names.setdefault(_folded(name), name)
    for row in rows:
        values = {_folded(name): value for name, value in row.items()}
        if len(values) < len(row):
            continue  # a column that is given twice: row_as_sql says so
        row.clear()
        row.update({name: values.get(folded) for folded, name in names.items()})


def value_as_sql(value: Any, kind: str, zone: Zone = lambda: timezone.utc) -> Sql:
    """Return a value of YAML or of a CSV as an expression of a column's type.

    Raises UnfitError.

    >>> value_as_sql({"a": 2}, "map<string,int>")
    "cast(map(cast('a' as string), cast('2' as int)) as map<string,int>)"
    """
    return _value(value, read_kind(kind), zone)


def _value(value: Any, kind: ColumnType, zone: Zone) -> Sql:
    if kind.name not in _NESTED:
        return _plain(value, kind.name, zone)
    # sql: an expression of the test's author
    inner = authored(value) if isinstance(value, str) else Sql("null")
    if value is not None and not isinstance(value, str):
        inner = Sql(f"{_CONSTRUCTORS[kind.name]}({', '.join(_parts(value, kind, zone))})")
    return Sql(f"cast({inner} as {sql_type(str(kind))})")


_CONSTRUCTORS = {"struct": "named_struct", "array": "array", "map": "map"}


def _parts(value: Any, kind: ColumnType, zone: Zone) -> Iterator[Sql]:
    if kind.name == "array":
        if not isinstance(value, list):
            raise UnfitError("is no list")
        for item in value:
            yield _value(item, kind.parts[0][1], zone)
        return
    if not isinstance(value, Mapping):
        raise UnfitError("is no mapping")
    if kind.name == "map":
        (_, of_key), (_, of_value) = kind.parts
        for key, item in value.items():
            if key is None:
                raise UnfitError("has a key that is NULL")
            yield _value(key, of_key, zone)
            yield _value(item, of_value, zone)
        return
    given = {str(name).lower(): item for name, item in value.items()}
    if unknown := set(given) - {name.lower() for name, _ in kind.parts}:
        raise UnfitError(f"has a field {min(unknown)}, which the type has not")
    for name, part in kind.parts:
        yield string(name)
        yield _value(given.get(name.lower()), part, zone)


def _plain(value: Any, kind: str, zone: Zone) -> Sql:
    type_ = type_text(kind)
    if value is None:
        return Sql(f"cast(null as {type_})")
    if isinstance(value, (list, Mapping)):
        raise UnfitError("is no single value")
    text = _text(value)
    if text.strip().lower() in NULLS and not kind.startswith(_TEXTS):
        return Sql(f"cast(null as {type_})")  # a cell of a seed that is the input
    reader = reader_of(kind, zone() if kind.startswith("timestamp") else timezone.utc)
    if reader is not None:
        return Sql(f"cast({string(reader(text))} as {type_})")
    said = string(f"a unit test gives {short(value)}, which is no {kind}")
    return Sql(f"coalesce(try_cast({string(text)} as {type_}), raise_error({said}))")


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return value.isoformat(sep=" ") if isinstance(value, datetime) else str(value)


def _folded(name: Any) -> Any:
    return name.lower() if isinstance(name, str) else name


def fill_expected(config: Any) -> None:
    """Let all rows that a unit test expects have the same columns; change no other nodes."""
    rows: Sequence[Any] = getattr(config, "expected_rows", None) or ()
    if isinstance(rows, list) and all(isinstance(row, dict) for row in rows):
        alike(rows)
