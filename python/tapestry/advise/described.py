"""Reads descriptions of models, sources and seeds in a project's YAML files (for ``worker``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sqlglot import exp
from sqlglot.errors import SqlglotError

_KINDS = ("models", "seeds", "snapshots")
_OF_SOURCES = ("loaded_at_field", "meta")
_LOOKED_AT = (
    *("materialized", "unique_key", "incremental_strategy", "enabled"),
    *("arrival", "loaded_at_field", "meta"),
)
LONGEST_TYPE = 2_000
DEEPEST_TYPE = 20


def described(said: Any, dialect: str) -> Iterator[dict[str, Any]]:
    """Yield for each table a mapping: ``kind``, ``name``, ``config``, ``columns`` (Spark's
    types).
    """
    said = mapping(said)
    for kind in _KINDS:
        for one in _list(said.get(kind)):
            yield _told(kind[:-1], str(one.get("name", "")), one, _config(one), dialect)
    for source in _list(said.get("sources")):
        for table in _list(source.get("tables")):
            name = f"{source.get('name', '')}.{table.get('name', '')}"
            inherited = {key: source[key] for key in _OF_SOURCES if source.get(key)}
            config = {**inherited, **_config(source), **_config(table)}
            yield _told("source", name, table, config, dialect)


def mapping(value: Any) -> Mapping[str, Any]:
    """Return the value if it is a mapping, else an empty one."""
    return value if isinstance(value, dict) else {}


def spark_type(written: object, dialect: str) -> str:
    """Return a type of a dialect as Spark's; '' if it cannot be read.

    The parser is machine code, which a type of many levels ends: those are not handed to it.
    """
    if not isinstance(written, str) or not 0 < len(written) <= LONGEST_TYPE:
        return ""
    if sum(written.count(one) for one in "<([") > DEEPEST_TYPE:
        return ""
    try:
        kind = exp.DataType.build(written, dialect=dialect)
        return str(exp.DataType.build(kind.sql("spark"), dialect="spark").sql("spark")).lower()
    except (SqlglotError, ValueError, AttributeError, KeyError, TypeError, RecursionError):
        return ""


def _told(
    kind: str, name: str, said: Mapping[str, Any], config: Mapping[str, Any], dialect: str
) -> dict[str, Any]:
    columns = {
        str(column["name"]).strip('"`').lower(): spark_type(column.get("data_type"), dialect)
        for column in _list(said.get("columns"))
        if column.get("name")
    }
    return {"kind": kind, "name": name.lower(), "config": dict(config), "columns": columns}


def _list(value: Any) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _config(said: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of interest in ``config:``, beside it, and in ``meta:``."""
    given = mapping(said.get("config"))
    config = {key: given[key] for key in _LOOKED_AT if key in given}
    for key in ("loaded_at_field", "materialized"):
        if isinstance(said.get(key), str):
            config.setdefault(key, said[key])
    meta = {**mapping(said.get("meta")), **mapping(given.get("meta"))}
    for key in ("arrival", "materialized"):
        if isinstance(meta.get(key), str):
            config.setdefault(key, meta[key])
    return config
