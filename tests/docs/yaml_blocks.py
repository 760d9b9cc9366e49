"""YAML of the pages, read by what reads it in a run: dbt's contracts and our own configuration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

import jinja2
import sqlglot
import yaml
from dbt.artifacts.resources import SnapshotConfig
from dbt.contracts.graph.unparsed import UnparsedUnitTest
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.tapestry.config_keys import known_keys
from dbt.adapters.tapestry.credentials import TapestryCredentials
from dbt.adapters.tapestry.nodes import arrival_said
from tapestry.runs.kinds.registry import KINDS, all_keys, parse_config
from tapestry.runs.model.declare import parse_expectations
from tapestry.runs.model.model import ModelConfig

OTHER_KEYS = {"name", "description", "columns", "config", "meta", "data_tests", "tests"}
PROPERTIES = {"sources", "unit_tests", "snapshots"}
"""Keys that files of properties alone have, beside models."""
MATERIALIZED = {*KINDS, "table", "view", "incremental", "ephemeral"}


def check(text: str) -> None:
    """AssertionError or ConfigurationError where the block is not what a run would take."""
    for read in yaml.safe_load_all(text):
        assert read is not None, "nothing but comments"
        if isinstance(read, list):
            parse_expectations(read)
        elif isinstance(read.get("models"), list) or {"sources", "unit_tests", "snapshots"} & set(
            read
        ):
            _properties(read)
        elif {"profile", "model-paths", "dispatch", "vars"} & set(read) or isinstance(
            read.get("models"), dict
        ):
            _project(read)
        elif any(isinstance(v, Mapping) and "outputs" in v for v in read.values()):
            _profiles(read)
        elif all(isinstance(v, Mapping) and "type" in v for v in read.values()):
            _profiles({"x": {"target": next(iter(read)), "outputs": read}})
        else:
            raise AssertionError(f"neither properties, project nor profile: {list(read)}")


def _properties(read: Mapping[str, Any]) -> None:
    known_kinds = {"version", "models", "sources", "seeds", "snapshots", "unit_tests"}
    assert set(read) <= known_kinds, f"keys {list(read)}"
    for test in read.get("unit_tests", ()):
        UnparsedUnitTest.validate(test)
    for snapshot in read.get("snapshots", ()):
        assert set(snapshot) == {"name", "relation", "config"}, list(snapshot)
        config = {"materialized": "snapshot", **snapshot["config"]}
        own = {one.name for one in fields(SnapshotConfig)} | {"hard_deletes"}
        assert set(config) <= own, set(config) - own
        SnapshotConfig.validate(config)
    for model in read.get("models", ()):
        assert set(model) <= OTHER_KEYS, f"{model['name']}: {set(model) - OTHER_KEYS}"
        config_of(model.get("config") or {})
    for source in read.get("sources", ()):
        for table in (source, *source.get("tables", ())):
            config = dict(table.get("config") or {})
            meta = dict(config.pop("meta", None) or {})
            known = {"loaded_at_field", "freshness", "event_time", "enabled", "tags"}
            assert set(config) <= known, f"{table['name']}: {config}"
            assert set(meta) <= {"arrival"}, f"{table['name']}: {meta}"
        for table in source.get("tables", ()):
            assert arrival_said({**table}) is not None, f"{table['name']} says no arrival"


def config_of(config: Mapping[str, Any]) -> ModelConfig:
    """A model's configuration; a key that nobody knows is an error here, unlike in dbt."""
    known = known_keys()
    unknown = set(config) - known - set(all_keys())
    assert not unknown, f"no such keys: {unknown}"
    assert config.get("materialized", "table") in MATERIALIZED, config["materialized"]
    kind = config.get("materialized", "table")
    parsed = parse_config(kind if kind in KINDS else "continuous", config, known)
    for expectation in parsed.expectations:
        if expectation.condition:
            row = jinja2.Template(expectation.condition).render(target={"schema": "demo"})
            assert sqlglot.parse_one(f"SELECT 1 FROM t WHERE {row}", read="spark")
    return parsed


def _project(read: Mapping[str, Any]) -> None:
    from dbt.contracts.project import Project

    Project.validate({"name": "x", "config-version": 2, **read})
    for config in _plus_keys(read.get("models") or {}):
        config_of(config)


def _plus_keys(tree: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    yield {key[1:]: value for key, value in tree.items() if key.startswith("+")}
    for value in tree.values():
        if isinstance(value, Mapping):
            yield from _plus_keys(value)


def _profiles(read: Mapping[str, Any]) -> None:
    for profile in read.values():
        assert profile["target"] in profile["outputs"]
        for output in profile["outputs"].values():
            given = {key: value for key, value in output.items() if key not in ("type", "threads")}
            if output["type"] != "tapestry":
                continue
            data = TapestryCredentials.translate_aliases({"database": None, **given})
            TapestryCredentials.validate(data)
            try:
                TapestryCredentials.from_dict(data)
            except DbtRuntimeError as error:
                if "additional dependencies" not in str(error):  # an extra not installed here
                    raise
