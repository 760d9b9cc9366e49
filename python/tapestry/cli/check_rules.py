"""Checks whether the tables that rules read record when their commits were made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dbt.adapters.tapestry.nodes import depends_on
from tapestry.cli.checks import NOTE, OK, Diagnosis, trouble
from tapestry.cli.models import Manifest
from tapestry.errors import TapestryError
from tapestry.quoting import relation_name
from tapestry.runs.engine.session import Session
from tapestry.runs.query.relations import plain
from tapestry.runs.sources.describe import describe
from tapestry.sql import View

RULE = "rule"
OWN_TIMES = "delta.enableInCommitTimestamps"
"""The property of a table that writes the time of a commit into the commit."""


def check_rules(session: Session, manifest: Manifest) -> Iterator[Diagnosis]:
    """A finding for every table that a rule watches, or reads as it was at a commit."""
    for name, rules in sorted(_read_by_rules(manifest).items()):
        what, by = f"source {name}", ", ".join(sorted(rules))
        try:
            table = describe(session, name)
        except TapestryError as error:
            yield trouble(what, error)
            continue
        if isinstance(table, View):
            continue
        if table.properties.get(OWN_TIMES, "").lower() == "true":
            yield Diagnosis(what, OK, f"its commits say when they were made, for {by}")
            continue
        yield Diagnosis(
            what,
            NOTE,
            f"its commits have the times of the files of its log, which another clock may set and"
            f" a copy changes: {by} compares them with those of other tables",
            f"alter table {relation_name(name)} set tblproperties ('{OWN_TIMES}' = 'true')",
        )


def _read_by_rules(manifest: Manifest) -> Mapping[str, set[str]]:
    """Relations that rules read, by normalized name, with the names of the rules."""
    found: dict[str, set[str]] = {}
    for name in manifest.of_kinds({RULE}):
        for node in depends_on(manifest.model(name), manifest.graph):
            if node.get("relation_name"):
                found.setdefault(plain(node["relation_name"]), set()).add(name)
    return found
