"""Support for packages that need of an adapter what Spark does not have."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from dbt.adapters.base import BaseRelation

from tapestry.quoting import string

SEARCHED_FIRST = ("dbt_utils", "audit_helper")
"""Packages whose macros have a version of this adapter's where Spark needs one."""


def prefer_own_macros(config: Any) -> None:
    """Let dbt look for a package's macro in the adapter before it takes the package's default.

    An adapter's macros are in dbt's own namespace, where dbt looks for those of a package only if
    the project's `dispatch` says so. A project that has an entry for a package keeps it.
    """
    entries = getattr(config, "dispatch", None)
    if entries is None:
        return
    given = {entry["macro_namespace"] for entry in entries}
    entries.extend(
        {"macro_namespace": name, "search_order": [config.project_name, "dbt", name]}
        for name in SEARCHED_FIRST
        if name not in given
    )


def relations_like(
    schemas: Iterable[str],
    relations: Callable[[str], Iterable[BaseRelation]],
    patterns: tuple[str, str, str],
) -> list[BaseRelation]:
    """Return the relations that three ILIKE patterns choose, in order of names.

    The patterns are for the schema, for the name, and for names to leave out (none where empty).
    """
    schema_like, name_like, but_not = (ilike_matcher(pattern) for pattern in patterns)
    found = [
        relation
        for schema in schemas
        if schema_like(schema)
        for relation in relations(schema)
        if name_like(str(relation.identifier)) and not but_not(str(relation.identifier))
    ]
    return sorted(found, key=lambda relation: (str(relation.schema), str(relation.identifier)))


def tables_sql(found: Iterable[BaseRelation]) -> str:
    """Return relations as the query that a package expects of `information_schema.tables`.

    The names are fixed in the text: it is right for the moment at which it was made.
    """
    rows = ", ".join(f"({', '.join(map(string, _row(relation)))})" for relation in found)
    columns = "table_schema, table_name, table_type"
    if not rows:
        return f"select {columns} from values ('', '', '') as found({columns}) where false"
    return f"select {columns} from values {rows} as found({columns})"


def _row(relation: BaseRelation) -> tuple[str, str, str]:
    return str(relation.schema), str(relation.identifier), str(relation.type or "table")


def ilike_matcher(pattern: str) -> Callable[[str], bool]:
    """Return a matcher for ILIKE, with backslashes as escapes; '' matches nothing."""
    if not pattern:
        return lambda _: False
    parts = re.findall(r"\\.|.", pattern, re.DOTALL)
    wild = {"%": ".*", "_": "."}
    text = "".join(wild.get(part) or re.escape(part[-1]) for part in parts)
    matches = re.compile(text, re.DOTALL | re.IGNORECASE).fullmatch
    return lambda name: matches(name) is not None
