"""Checks whether runs can read every source of our models, and cheaply."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from typing import Any

from dbt.adapters.tapestry.nodes import arrival_said, depends_on
from tapestry.cli.check_history import check_history
from tapestry.cli.check_kept import check_feed, check_target, large_models
from tapestry.cli.checks import NOTE, OK, WRONG, Diagnosis, trouble
from tapestry.cli.models import Manifest
from tapestry.errors import TapestryError
from tapestry.names import RUNS_TABLE
from tapestry.quoting import identifier, relation_name, string
from tapestry.runs.engine.session import Session
from tapestry.runs.engine.values import as_list
from tapestry.runs.kinds.registry import kind_named
from tapestry.runs.query.relations import STATIC, plain
from tapestry.runs.sources.committed import COMMIT, enabling, lacking
from tapestry.runs.sources.describe import (
    ARRIVAL_TYPES,
    DeltaSource,
    arrival_column,
    describe,
)
from tapestry.sql import View

MAINTAINED = "maintained"
MANY_FILES = 32
"""From so many files on it matters that statistics exclude most of them."""
INDEXED = 32
"""Delta keeps minimum and maximum of so many of the first columns."""


_ENOUGH = 3
"""So many intervals say what is usual."""
_DAYS = 90
"""Runs before that do not count."""


def check_sources(session: Session, manifest: Manifest, schema: str) -> Iterator[Diagnosis]:
    """One or more findings for every table or view that a model of ours refers to.

    ``schema`` holds the log of runs, which says how often they are.
    """
    maintained = {name: manifest.model(name) for name in manifest.of_kinds({MAINTAINED})}
    seen = _Seen(past_intervals(session, schema), large_models(session, maintained))
    for name, read in sorted(_read_by_ours(manifest).items()):
        node = read.node
        materialized = node.get("config", {}).get("materialized")
        if materialized == "ephemeral" or kind_named(materialized):
            continue
        try:
            yield from _check(session, name, read, arrival_said(node), seen)
        except TapestryError as error:
            found = trouble(f"source {name}", error)
            if "there is no table" in error.reason and node["resource_type"] != "source":
                build = "seed" if node["resource_type"] == "seed" else "run"
                found = replace(found, fix=f"dbt {build} --select {node['name']}")
            yield found
    for name in sorted(seen.large):
        yield from check_target(session, name, maintained[name])


@dataclass(frozen=True)
class _Seen:
    """Facts of the maintained models: how often each relation was written, and which are large."""

    usual: Mapping[str, timedelta]
    large: frozenset[str]


@dataclass(frozen=True)
class _Read:
    """A node that models of ours refer to; ``maintained`` are those of that kind, by name.

    dated
        Some of the others ask when its rows arrive.
    """

    node: Mapping[str, Any]
    maintained: Mapping[str, Mapping[str, Any]]
    dated: bool


def _read_by_ours(manifest: Manifest) -> dict[str, _Read]:
    """Relations that models of ours refer to, by normalized name."""
    found: dict[str, _Read] = {}
    for name in manifest.of_answers():
        model = manifest.model(name)
        mine = {name: model} if manifest.kind(name) == MAINTAINED else {}
        for node in depends_on(model, manifest.graph):
            if node.get("relation_name"):
                relation = plain(node["relation_name"])
                there = found.get(relation, _Read(node, {}, False))
                dated = there.dated or not mine
                found[relation] = _Read(node, {**there.maintained, **mine}, dated)
    return found


def _check(
    session: Session, name: str, read: _Read, arrival: str | None, seen: _Seen
) -> Iterator[Diagnosis]:
    what, node = f"source {name}", read.node
    table = describe(session, name)
    if isinstance(table, View):
        yield Diagnosis(what, OK, "a view: what counts are the tables that it reads")
        return
    if read.maintained:
        now = datetime.now(timezone.utc)
        yield from check_history(session, table, read.maintained, now, seen.usual)
        yield from check_feed(table, read.maintained, seen.large)
    if arrival is None and not read.dated:
        yield Diagnosis(what, OK, "read as it is at each run: maintained models need no more")
        return
    if arrival is None:
        fix = _saying(table, node["resource_type"] == "source")
        yield Diagnosis(what, WRONG, "says nothing of when its rows arrive", fix)
        return
    if arrival == STATIC:
        yield Diagnosis(what, OK, "static: visible at every instant")
        return
    if arrival == COMMIT:
        yield _committed(what, table)
        return
    column = arrival_column(table, arrival)
    yield Diagnosis(what, OK, f"rows arrive at {column.name} ({column.type})")
    yield from _layout(session, table, column.name)


def _saying(table: DeltaSource, is_source: bool) -> str:
    """Return how to configure when the rows of a table arrive."""
    stamps = [column.name for column in table.columns if column.type == "timestamp"]
    if not any(column.type in ARRIVAL_TYPES for column in table.columns):
        first = f"{enabling(table)}; " if lacking(table) else ""
        return first + _in_yaml("meta: {arrival: commit}")
    stamp = stamps[0] if len(stamps) == 1 else "<timestamp column>"
    return _in_yaml(f"loaded_at_field: {stamp}" if is_source else f"meta: {{arrival: {stamp}}}")


def _in_yaml(said: str) -> str:
    return f"in its YAML: config: {{{said}}}  (a look-up table: meta: {{arrival: static}})"


def _committed(what: str, table: DeltaSource) -> Diagnosis:
    """Return whether Delta records when the rows of a table were committed."""
    missing = lacking(table)
    if missing:
        text = f"arrival: commit needs {' and '.join(missing)}, which {table.name} has not"
        return Diagnosis(what, WRONG, text, enabling(table))
    return Diagnosis(what, OK, "rows arrive with the commits that added them; every run reads all")


def _layout(session: Session, table: DeltaSource, arrival: str) -> Iterator[Diagnosis]:
    """Yield whether file statistics narrow a run to the files of its window."""
    what = f"source {table.name}"
    quoted = relation_name(table.name)
    if _without_statistics(table, arrival):
        yield Diagnosis(
            what,
            NOTE,
            f"Delta keeps no statistics of {arrival}: every run reads the whole table",
            f"alter table {quoted} set tblproperties"
            f" ('delta.dataSkippingStatsColumns' = {string(arrival)}); analyze table {quoted}"
            " compute delta statistics",
        )
    (detail,) = session.rows(f"DESCRIBE DETAIL {quoted}")
    laid_out = {str(c).lower() for c in (*as_list(detail[7]), *as_list(detail[8]))}
    files = int(detail[9] or 0)
    if files >= MANY_FILES and arrival.lower() not in laid_out:
        yield Diagnosis(
            what,
            NOTE,
            f"{files} files, not clustered by {arrival}: after rewrites of old rows a run may read"
            " more of them than its window needs",
            f"alter table {quoted} cluster by ({identifier(arrival)}); optimize {quoted}",
        )


def _without_statistics(table: DeltaSource, arrival: str) -> bool:
    named = table.properties.get("delta.dataSkippingStatsColumns")
    if named is not None:
        return arrival.lower() not in [c.strip(" `").lower() for c in named.split(",")]
    indexed = int(table.properties.get("delta.dataSkippingNumIndexedCols", INDEXED))
    place = [column.name.lower() for column in table.columns].index(arrival.lower())
    return 0 <= indexed <= place


def past_intervals(session: Session, schema: str) -> Mapping[str, timedelta]:
    """The usual time between two runs of a model that wrote: its relation -> the median."""
    table = relation_name(f"{schema}.{RUNS_TABLE}")
    try:
        rows = session.rows(
            "SELECT model, percentile(gap, 0.5) FROM (SELECT model,"
            " unix_timestamp(ended_at) - lag(unix_timestamp(ended_at))"
            f" OVER (PARTITION BY model ORDER BY ended_at) AS gap FROM {table}"
            f" WHERE action <> 'failed' AND ended_at > now() - INTERVAL {_DAYS:d} DAYS)"
            f" WHERE gap IS NOT NULL GROUP BY model HAVING count(*) >= {_ENOUGH:d}"
        )
    except Exception:
        return {}
    return {str(model): timedelta(seconds=float(gap)) for model, gap in rows}
