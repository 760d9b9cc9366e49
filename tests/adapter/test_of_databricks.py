"""Projects written for Databricks: its materialized views are maintained models here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.tapestry.config_keys import idle_keys
from dbt.adapters.tapestry.nodes import model_of
from tapestry.errors import ConfigurationError
from tapestry.runs.kinds.registry import KINDS, OTHER_NAMES, kind_called, kind_named, kind_of

MACROS = Path(__file__).parents[2] / "macros" / "materializations"
GIVEN: dict[str, Any] = {
    "schedule": {"cron": "0 0 * * * ? *", "time_zone_value": "UTC"},
    "on_configuration_change": "fail",
    "partition_by": ["day"],
    "liquid_clustered_by": "day",
    "tblproperties": {"quality": "gold"},
    "databricks_tags": {"team": "a"},
    "databricks_compute": "small",
    "row_filter": {"function": "f", "columns": ["day"]},
    "query_tags": '{"a": "b"}',
}


def _node(**config: Any) -> dict[str, Any]:
    made = {"materialized": "materialized_view", **config}
    return {"name": "m", "relation_name": "s.m", "config": made, "unrendered_config": made}


def test_a_materialized_view_is_a_maintained_model() -> None:
    model = model_of(_node(**GIVEN), {"nodes": {}, "sources": {}}, "select 1", "", "UTC")
    assert model.materialized == "maintained"  # so its state goes on under either name
    assert kind_of(model) is kind_called("maintained")
    assert model.config.own.on_configuration_change == "fail"


def test_what_has_no_counterpart_is_told_and_the_rest_is_not() -> None:
    config = {"materialized": "materialized_view", **GIVEN}
    told = {idle.key: idle for idle in idle_keys(config, GIVEN, own=set(GIVEN))}
    assert set(told) == {
        "schedule", "row_filter", "query_tags", "databricks_tags", "databricks_compute"
    }  # fmt: skip
    assert "every:" in told["schedule"].why
    assert {idle.kind for idle in told.values()} == {"maintained"}


def test_keys_of_ours_are_checked_on_it() -> None:
    with pytest.raises(ConfigurationError, match="late_rows"):
        list(idle_keys({"materialized": "materialized_view"}, {}, own={"late_rows"}))
    with pytest.raises(ConfigurationError, match="did you mean refresh"):
        list(idle_keys({"materialized": "materialized_view"}, {"refrsh": "auto"}))


def test_each_name_has_a_materialization_that_runs_a_model() -> None:
    for name in (*KINDS, *OTHER_NAMES):
        assert kind_named(name) in KINDS
        text = (MACROS / f"{name}.sql").read_text("utf-8")
        assert f"materialization {name}, adapter='tapestry'" in text
        assert "tapestry__run_model()" in text or "tapestry__run_on_commits()" in text


def test_a_streaming_table_is_refused_with_advice() -> None:
    text = (MACROS / "streaming_table.sql").read_text("utf-8")
    assert "raise_compiler_error" in text
    assert "materialized='continuous'" in text
