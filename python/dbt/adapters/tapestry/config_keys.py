"""The configuration keys and the kinds of nodes on which each of them does something.

``docs/reference/config.md`` is written from it, and a run warns once of keys that do nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from difflib import get_close_matches
from functools import cache
from typing import Any

from tapestry.errors import ConfigurationError
from tapestry.runs.kinds import registry
from tapestry.runs.model.keys import ARRIVAL, ConfigKey, meant_key, misspelt
from tapestry.runs.model.values import entries

TABLE, VIEW, SNAPSHOT, SEED = "table", "view", "snapshot", "seed"
STRATEGIES = ("append", "merge", "insert_overwrite", "microbatch")
INCREMENTAL = tuple(f"incremental, {strategy}" for strategy in STRATEGIES)
OURS = tuple(registry.KINDS)
KINDS = (TABLE, VIEW, *INCREMENTAL, *OURS, SNAPSHOT, SEED)
_MERGE = ("incremental, merge",)
_BATCHES = ("incremental, microbatch",)
KEYS = registry.all_keys()
"""The keys of ours, of whichever kind."""


_ANSWERS = registry.kinds_of_answers()
_STORED = (TABLE, *INCREMENTAL, *_ANSWERS, SNAPSHOT, SEED)
_MODELS = (TABLE, VIEW, *INCREMENTAL, *OURS)

WORKS: Mapping[str, tuple[str, ...]] = {
    **{key: registry.kinds_with(key) for key in KEYS},
    "arrival": (TABLE, *INCREMENTAL, *OURS, SNAPSHOT, SEED),
    "expectations": (TABLE, VIEW, *INCREMENTAL, *_ANSWERS),
    "every": _MODELS,
    "priority": _MODELS,
    "begin": (*_BATCHES, *registry.kinds_with("begin")),
    "on_schema_change": (*INCREMENTAL, *registry.kinds_with("on_schema_change")),
    "file_format": (TABLE, *INCREMENTAL, SNAPSHOT, SEED),
    "location_root": _STORED,
    "partition_by": _STORED,
    "clustered_by": _STORED,
    "buckets": _STORED,
    "liquid_clustered_by": _STORED,
    "options": _STORED,
    "tblproperties": (VIEW, *_STORED),
    "incremental_strategy": INCREMENTAL,
    "unique_key": (*_MERGE, *registry.kinds_with("unique_key"), SNAPSHOT),
    "merge_update_columns": _MERGE,
    "merge_exclude_columns": _MERGE,
    "incremental_predicates": _MERGE,
    "predicates": _MERGE,
    "batch_size": _BATCHES,
    "lookback": _BATCHES,
    "concurrent_batches": _BATCHES,
    "sql_header": (),
    "indexes": (),
}
"""Key, ours or dbt-spark's -> the kinds on which it does something."""
INSTEAD: Mapping[str, str] = {
    "unique_key": "incremental_strategy: merge replaces rows by it; the default, append, only adds",
    "sql_header": "a pre_hook does what it would",
    "file_format": "the table of a continuous model is Delta's",
    "liquid_clustered_by": "it lays a table out",
}
"""Key without effect -> the alternative; those that are keys of Tapestry are dbt's, too."""
OTHERS: Mapping[str, tuple[str, str]] = {
    "cluster_by": ("Snowflake and BigQuery", "liquid_clustered_by lays a Delta table out"),
    "automatic_clustering": ("Snowflake", "liquid_clustered_by lays a Delta table out"),
    "auto_liquid_cluster": ("Databricks", "liquid_clustered_by names the columns"),
    "zorder": ("Databricks", "a post_hook can run OPTIMIZE … ZORDER BY (…)"),
    "transient": ("Snowflake", ""),
    "copy_grants": ("Snowflake", "grants: is set on each run"),
    "query_tag": ("Snowflake", ""),
    "secure": ("Snowflake", ""),
    "snowflake_warehouse": ("Snowflake", ""),
    "tmp_relation_type": ("Snowflake", ""),
    "schedule": ("Databricks", "every: says how often tapestry watch runs the model"),
    "row_filter": ("Databricks", "a view below can show a part of the rows"),
    "query_tags": ("Databricks", ""),
    "databricks_tags": ("Databricks", "tblproperties keep a name and a value"),
    "databricks_compute": ("Databricks", ""),
    "compression": ("Databricks", "options: {compression: …} of the file format"),
    "include_full_name_in_path": ("Databricks", ""),
    "merge_with_schema_evolution": ("Databricks", "on_schema_change: append_new_columns"),
    "matched_condition": ("Databricks", "incremental_predicates"),
    "not_matched_condition": ("Databricks", ""),
    "not_matched_by_source_action": ("Databricks", ""),
    "skip_matched_step": ("Databricks", ""),
    "skip_not_matched_step": ("Databricks", ""),
    "replace_where": ("Databricks", "incremental_strategy: insert_overwrite replaces partitions"),
    "partitions": ("BigQuery", "incremental_strategy: insert_overwrite replaces partitions"),
    "labels": ("BigQuery", "tblproperties keep a name and a value"),
    "resource_tags": ("BigQuery", "tblproperties keep a name and a value"),
    "kms_key_name": ("BigQuery", ""),
    "hours_to_expiration": ("BigQuery", ""),
    "partition_expiration_days": ("BigQuery", ""),
    "require_partition_filter": ("BigQuery", ""),
    "sort": ("Redshift", "partition_by, liquid_clustered_by"),
    "sort_type": ("Redshift", "partition_by, liquid_clustered_by"),
    "dist": ("Redshift", "partition_by, liquid_clustered_by"),
    "bind": ("Redshift", ""),
    "backup": ("Redshift", ""),
    "auto_refresh": ("Redshift", ""),
    "unlogged": ("PostgreSQL", ""),
}
"""Keys of other adapters, with what there is here in their place."""
_SOURCE_KEYS = {row.name: row for row in (ARRIVAL, ConfigKey("loaded_at_field", entries(), ""))}
_LOOSE = frozenset({"hard_deletes", "invalidate_hard_deletes", "snapshot_table_column_names"})
"""Keys of dbt that are fields of none of its classes."""
_NEAR, _LONG = 0.85, 8
"""The minimum similarity of a misspelt key, and the length from which this is no coincidence."""


@dataclass(frozen=True)
class Idle:
    """A key that does nothing where it stands."""

    key: str
    kind: str
    why: str


def kind_of(config: Mapping[str, Any]) -> str:
    """Return the kind of a node; another text for a materialization of somebody else's."""
    said = str(config.get("materialized") or "")
    kind = registry.kind_named(said) or said
    if kind != "incremental":
        return kind
    return f"{kind}, {config.get('incremental_strategy') or STRATEGIES[0]}"


def idle_keys(
    config: Mapping[str, Any], given: Mapping[str, Any], own: Collection[str] = ()
) -> Iterator[Idle]:
    """Yield the keys that do nothing on this node; ``given``: those that its author wrote.

    On a kind of ours the keys of our other kinds do nothing, and only dbt's own keys are reported:
    a folder may set ours for models of several kinds. Raises ConfigurationError for a key of
    another of our kinds among the model's ``own`` keys, and for a misspelt key that would do
    something.
    """
    kind = kind_of(config)
    if kind not in KINDS and kind not in registry.KINDS:
        return
    meta = dict(config.get("meta") or {})
    yield from _misspelt_keys(kind, given, meta)
    _refuse_keys_of_others(kind, own)
    if kind not in KINDS:
        return
    for key in map(str, {**given, **{k: v for k, v in meta.items() if k in KEYS}}):
        value = config.get(key, meta.get(key))
        if value is None or value in ([], {}, ""):
            continue
        if kind in OURS and key in KEYS and key not in INSTEAD:
            continue
        if key in OTHERS:
            of, instead = OTHERS[key]
            yield Idle(key, kind, f"is of {of}{_then(instead)}")
        elif kind not in WORKS.get(key, KINDS) and (key, value) != ("file_format", "delta"):
            on = told_kinds(WORKS[key])
            where = f"does something on {on} only" if on else "does nothing on Spark"
            yield Idle(key, kind, where + _then(INSTEAD.get(key, "")))
    if (config.get("clustered_by") is None) != (config.get("buckets") is None):
        alone = "buckets" if config.get("clustered_by") is None else "clustered_by"
        yield Idle(alone, kind, "needs the other one of clustered_by and buckets")


def _misspelt_keys(kind: str, given: Mapping[str, Any], meta: Mapping[str, Any]) -> Iterator[Idle]:
    """Yield the keys near to one of ours, this kind's first, then those near to one of dbt's."""
    ours = registry.kind_called(kind).keys.rows if kind in registry.KINDS else {}
    for key in map(str, (*given, *meta)):
        if key not in known_keys():
            meant = meant_key(key, ours) or meant_key(key, KEYS)
            if meant is not None:
                yield _misspelt(key, meant, kind, ours)
    for key in map(str, given):
        meant = _meant_of_dbt(key)
        if meant is not None and kind in WORKS.get(meant, KINDS):
            yield Idle(key, kind, f"is no key of dbt or ours; did you mean {meant}?")


def _refuse_keys_of_others(kind: str, own: Collection[str]) -> None:
    """Raise ConfigurationError where a model of ours says itself what only another kind knows."""
    if kind not in registry.KINDS:
        return
    rows = registry.kind_called(kind).keys.rows
    for key in own:
        if key in KEYS and key not in rows and key not in INSTEAD:
            raise ConfigurationError(
                f"{key} does something on {told_kinds(WORKS[key])} only: this model is {kind}",
                hint=f"take it out; valid are: {', '.join(rows)}",
            )


def refuse_misspelt_arrival(node: Mapping[str, Any]) -> None:
    """Raise ConfigurationError where a source, or what else is read, misspells its arrival."""
    config = dict(node.get("config") or {})
    for place in (config, config.get("meta") or {}, node.get("meta") or {}):
        for key in map(str, place):
            meant = None if key in known_keys() else meant_key(key, _SOURCE_KEYS)
            if meant is not None:
                raise ConfigurationError(
                    f"{key} of {node.get('name')} is not a configuration key",
                    where=str(node.get("original_file_path") or ""),
                    hint=f"did you mean {meant}?",
                )


@cache
def known_keys() -> frozenset[str]:
    """Return dbt's keys, the adapter's and other adapters': none is a misspelt key of ours."""
    from dbt.artifacts.resources import SeedConfig, SnapshotConfig, SourceConfig
    from dbt.artifacts.resources.v1.config import NodeConfig

    from dbt.adapters.tapestry.model_config import TapestryConfig

    classes = (NodeConfig, SnapshotConfig, SeedConfig, SourceConfig, TapestryConfig)
    dbts = {field.name for one in classes for field in fields(one)}
    return frozenset(dbts) | _LOOSE | set(WORKS) | set(OTHERS) | {"pre-hook", "post-hook"}


def told_kinds(kinds: Sequence[str]) -> str:
    """Return kinds as text; the strategies of incremental models are grouped.

    >>> told_kinds(("table", *INCREMENTAL)), told_kinds(("incremental, merge", "snapshot"))
    ('table, incremental', 'incremental (merge), snapshot')
    """
    strategies = [kind.split(", ")[1] for kind in kinds if kind in INCREMENTAL]
    of = "" if len(strategies) == len(STRATEGIES) else f" ({', '.join(strategies)})"
    return ", ".join(dict.fromkeys(f"incremental{of}" if k in INCREMENTAL else k for k in kinds))


def _meant_of_dbt(key: str) -> str | None:
    """Return the key of dbt or dbt-spark that a word misspells: dbt keeps any key silently."""
    known = known_keys()
    if key in known or meant_key(key, KEYS) is not None:
        return None
    long = [one for one in known - set(KEYS) - set(OTHERS) if len(one) >= _LONG]
    return next(iter(get_close_matches(key.lower(), long, 1, cutoff=_NEAR)), None)


def _misspelt(key: str, meant: str, kind: str, ours: Collection[str]) -> Idle:
    """Return a key near to one of ours; raise an error if the right key would do something.

    ``ours``: the keys of the kind, if it is one of ours.
    """
    if meant in ours or (not ours and kind in WORKS[meant] and not KEYS[meant].word):
        raise misspelt(key, meant, ours or KEYS)
    of = "" if kind in WORKS[meant] else f", which does something on {told_kinds(WORKS[meant])}"
    return Idle(key, kind, f"is no key of dbt or ours; did you mean {meant}{of}?")


def _then(instead: str) -> str:
    return f"; {instead}" if instead else ""
