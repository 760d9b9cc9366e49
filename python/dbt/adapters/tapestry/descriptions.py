"""Reads descriptions of tables and columns from Spark, for docs and to find changed ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dbt.adapters.tapestry.column_names import named_column

_DETAILS = "# Detailed Table Information"
_COMMENT = "Comment"
CATALOG_TEXTS = (
    "table_schema",
    "table_name",
    "table_type",
    "table_owner",
    "table_comment",
    "column_name",
    "column_type",
    "column_comment",
)
"""Columns of dbt's catalog that are text, whatever they hold."""


def described(rows: Sequence[Sequence[Any]]) -> tuple[str, dict[str, str]]:
    """Return the descriptions of a relation and of its columns, from DESCRIBE EXTENDED.

    >>> described([("id", "int", "a key"), ("", "", ""), ("# Detailed Table Information", "", ""),
    ...            ("Comment", "a table", "")])
    ('a table', {'id': 'a key'})
    """
    columns: dict[str, str] = {}
    for row in rows:
        if not row[0] or str(row[0]).startswith("#"):
            break
        columns[str(row[0])] = str(row[2] or "")
    names = [str(row[0]) for row in rows]
    details = rows[names.index(_DETAILS) + 1 :] if _DETAILS in names else ()
    return next((str(row[1] or "") for row in details if row[0] == _COMMENT), ""), columns


def changed_columns(
    wanted: Mapping[str, Mapping[str, Any]], there: Mapping[str, str]
) -> dict[str, dict[str, Any]]:
    """Return the columns of a model's YAML whose descriptions differ from the table's.

    They have the table's names, to be quoted: the YAML may write them in another case.
    """
    found: dict[str, dict[str, Any]] = {}
    for name, column in wanted.items():
        known = named_column(name, list(there))
        if known is not None and (column.get("description") or "") != there[known]:
            found[known] = {**column, "quote": True}
    return found


def without_comment(information: str) -> str:
    """Return the part of a table's SHOW TABLE EXTENDED before its comment, which is any text.

    Kind and format, which dbt-spark looks for in the whole of it, stand before.

    >>> without_comment("Type: MANAGED\\nProvider: delta\\nComment: a\\nType: VIEW\\n")
    'Type: MANAGED\\nProvider: delta'
    """
    return information.partition("\nComment: ")[0]
