"""Names of columns that Delta keeps only in tables with column mapping, and errors about them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from tapestry.errors import ConfigurationError
from tapestry.quoting import Sql, authored
from tapestry.runs.engine.session import Session
from tapestry.runs.kinds.registry import kind_called, kind_named
from tapestry.runs.protocol.plan_empty import with_own_columns

MODE = "delta.columnMapping.mode"
DEFAULT_MODE = "spark.databricks.delta.properties.defaults.columnMapping.mode"
NEED_MAPPING = frozenset(" ,;{}()\n\t=")
"""The characters; hyphens, dots and letters of any language need nothing."""
_MARK = re.compile(r"\[(DELTA_INVALID_CHARACTERS?_IN_COLUMN_NAMES?)\]")
_PARTITION_MARK = "[DELTA_INVALID_PARTITION_COLUMN_NAME]"
_NAMES = re.compile(r"Invalid column names?: (.+?)\.?(?:\n(?:Please|Column) |$)", re.DOTALL)
_PART = r"(?:`(?:[^`]|``)*`|\w+)"
_TABLE = re.compile(
    r"^\s*(?:/\*.*?\*/\s*)?(create(?:\s+or\s+replace)?|alter|insert|merge)\s"
    rf"(?:\s*(?:into|overwrite|table)\b)*\s*({_PART}(?:\.{_PART})*)",
    re.DOTALL | re.IGNORECASE,
)
_BY_CONFIG = (
    "give the model the config tblproperties: {delta.columnMapping.mode: name}, or the column"
    " another name (… AS order_no)"
)


def refuse_unmapped(session: Session, node: Mapping[str, Any], names: Iterable[str]) -> None:
    """Raise ConfigurationError for columns of a new Delta table that it could not keep."""
    config = node["config"]
    odd = [name for name in names if NEED_MAPPING & set(name)]
    if not odd or (config.get("file_format") or "delta") != "delta" or _maps(config):
        return
    # sql: the name of a setting
    ((_, value),) = session.rows(f"SET {DEFAULT_MODE}")
    if str(value).lower() in ("name", "id"):
        return
    raise unmapped(", ".join(odd), str(node["relation_name"]), str(node["original_file_path"]))


def unmapped(columns: str, table: str, file: str = "", how: str = _BY_CONFIG) -> ConfigurationError:
    """Return the error for columns whose names need column mapping."""
    of = f" of {table}" if table else ""
    return ConfigurationError(
        f"column {columns}{of}: Delta keeps a name with a space or one of ,;{{}}()= in a table"
        " with column mapping only [DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES]",
        where=file,
        hint=how,
    )


def explained(message: str, sql: str) -> str:
    """Return Spark's message, completed by table and way out if it is about such names."""
    found = _TABLE.match(sql)
    verb, table = (found[1].lower(), found[2]) if found else ("", "")
    if _PARTITION_MARK in message:
        error = ConfigurationError(
            f"partition_by of {table or 'the table'}: Delta partitions by no column whose name has"
            f" a space or one of ,;{{}}()= unless columns are mapped {_PARTITION_MARK}",
            hint=_BY_CONFIG,
        )
        return str(error)
    if not _MARK.search(message):
        return message
    named = _NAMES.search(message)
    how = _BY_CONFIG
    if table and not verb.startswith("create"):
        # sql: what people read, never run
        once = f"ALTER TABLE {table} SET TBLPROPERTIES ('{MODE}' = 'name')"
        how = f"{_BY_CONFIG}; for the table that is there either --full-refresh, or once {once}"
    return str(unmapped(named[1].strip() if named else "", table, how=how))


def check_constraints(session: Session, node: Mapping[str, Any], query: Sql) -> None:
    """Raise ConfigurationError for a CHECK that the rows of a query cannot be asked.

    Delta takes a constraint when the table is there, with its rows.
    """
    asked = query
    name = kind_named(node["config"].get("materialized"))
    if name is not None:
        asked = authored(with_own_columns(kind_called(name), query))
    for constraint in node.get("constraints") or ():
        condition = constraint.get("expression")
        if constraint["type"] != "check" or not condition:
            continue
        rows = f"SELECT * FROM (\n{asked}\n) WHERE ({authored(condition)})"
        try:
            session.rows(f"DESCRIBE QUERY {rows}")
        except Exception as error:
            first = str(getattr(error, "msg", error)).strip().splitlines()[0]
            raise ConfigurationError(
                f"constraint {constraint.get('name') or 'check'}: {first}",
                where=str(condition),
                hint="a name with other characters than letters, digits and _ needs backticks",
            ) from error


def _maps(config: Mapping[str, Any]) -> bool:
    named = config.get("tblproperties") or {}
    return any(
        str(key).lower() == MODE.lower() and str(value).lower() in ("name", "id")
        for key, value in named.items()
    )
