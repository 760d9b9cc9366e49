"""Groups of one source that is only added to, as a plain dbt model that merges by their keys.

The first run gives every group with ``_matched_at``, the newest arrival among its rows.  A later
one reads the rows of groups that a row after tau belongs to, groups them, and gives those whose
newest arrival is after tau: exactly these differ, and each comes whole.  tau is the newest
``_matched_at`` of the table: rows that arrived between it and the end of the last run are in no
group, or their group would have it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from dbt.adapters.tapestry.guarded_model import TAU, T, filled, guarded_text, scan_for
from tapestry.cli.eject_maintained import MergedGroups
from tapestry.names import MATCHED_AT
from tapestry.quoting import Sql
from tapestry.runs.query.relations import Relations
from tapestry.sql import Scan, static_answer, timing
from tapestry.sql.write import build

MERGE = ("spark", "databricks", "snowflake", "bigquery")
"""Dbt merges in these; elsewhere it deletes the rows with a key and inserts."""


def groups_config(groups: MergedGroups, dialect: str) -> list[str]:
    """The part of the model's config() by which rows take each other's place."""
    strategy = "merge" if dialect in MERGE else "delete+insert"
    return [f"incremental_strategy='{strategy}'", f"unique_key={list(groups.keys)!r}"]


def groups_model(
    groups: MergedGroups,
    relations: Relations,
    said: Mapping[str, str],
    dialect: str,
    config: list[str],
    head: list[str],
) -> str:
    """The text of the model's file; ``said``: what dbt calls each relation."""
    catalog = relations.catalog
    scan = scan_for(groups.source, relations, dialect, numbered=False)
    first = static_answer(groups.text, catalog, T, {groups.source: scan}, dialect)
    narrow = _narrowed(scan, groups, dialect)
    later = static_answer(groups.text, catalog, T, {groups.source: narrow}, dialect)
    after = f"SELECT * FROM ({later}) AS newest WHERE {MATCHED_AT} > {_literal(dialect)}"
    return guarded_text(config, head, filled(first, said), filled(after, said))


def _narrowed(scan: Scan, groups: MergedGroups, dialect: str) -> Scan:
    """The rows of groups that a row after tau belongs to, where columns of the source tell them."""
    if not groups.carried:
        return scan
    same = " AND ".join(
        f"came.{build.column(name).sql(dialect)} = had.{build.column(name).sql(dialect)}"
        for name in groups.carried
    )
    came = f"SELECT 1 FROM {scan.relation} AS came WHERE {scan.arrival} > {_literal(dialect)}"
    rows = f"(SELECT had.* FROM {scan.relation} AS had WHERE EXISTS ({came} AND {same})) AS had"
    return replace(scan, relation=rows)


def _literal(dialect: str) -> Sql:
    """The instant tau."""
    return Sql(timing.literal(TAU).sql(dialect))
