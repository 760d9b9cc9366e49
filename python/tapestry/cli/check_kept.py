"""Checks whether runs of maintained models find and replace changed rows by reading little."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tapestry.cli.checks import NOTE, Diagnosis
from tapestry.errors import TapestryError
from tapestry.quoting import identifiers, relation_name
from tapestry.runs.engine.session import Session
from tapestry.runs.engine.values import as_list
from tapestry.runs.query.holding import SMALL
from tapestry.runs.query.relations import plain
from tapestry.runs.sources.describe import DeltaSource, describe
from tapestry.runs.sources.difference import FEED
from tapestry.sql import View

MANY_FILES = 32
"""From so many files on it matters that statistics exclude most of them."""


def check_feed(
    table: DeltaSource, readers: Mapping[str, Mapping[str, Any]], large: frozenset[str]
) -> Iterator[Diagnosis]:
    """A note on a source of which no change feed is kept, under a model of ``large``."""
    above = sorted(large & readers.keys())
    kept = table.properties.get(FEED, "").lower() == "true"
    if kept or not above or table.size <= SMALL:
        return
    yield Diagnosis(
        f"source {table.name}",
        NOTE,
        f"it has no change feed: runs of {', '.join(above)} compare all rows of the files that a"
        " commit wrote",
        f"alter table {relation_name(table.name)} set tblproperties ('{FEED}' = 'true')",
    )


def large_models(session: Session, models: Mapping[str, Mapping[str, Any]]) -> frozenset[str]:
    """Return the models whose tables are so large that every run goes by changes alone."""
    found = set()
    for name, node in models.items():
        try:
            table = describe(session, plain(node["relation_name"]))
        except TapestryError:
            continue  # it has not run yet
        if not isinstance(table, View) and table.size > SMALL:
            found.add(name)
    return frozenset(found)


def check_target(session: Session, name: str, node: Mapping[str, Any]) -> Iterator[Diagnosis]:
    """A note on a large table whose files do not lie by keys."""
    relation = plain(node["relation_name"])
    (detail,) = session.rows(f"DESCRIBE DETAIL {relation_name(relation)}")
    laid_out, files = [*as_list(detail[7]), *as_list(detail[8])], int(detail[9] or 0)
    if files < MANY_FILES or laid_out:
        return
    given = node["config"].get("unique_key")
    key = [given] if isinstance(given, str) else list(given or ())
    fix = (
        f"alter table {relation_name(relation)} cluster by ({identifiers(key)}); optimize"
        f" {relation_name(relation)} full"
        if key
        else f"liquid_clustered_by: the key that  tapestry explain {name}  names, and once"
        f"  dbt run --full-refresh --select {name}"
    )
    yield Diagnosis(
        f"model {name}",
        NOTE,
        f"{files} files that do not lie by its key: a run that replaces some rows may read all",
        fix,
    )
