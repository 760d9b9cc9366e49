"""The table of keys and kinds: what does nothing is told, what is misspelt is refused."""

from __future__ import annotations

from typing import Any

import pytest

from dbt.adapters.tapestry.config_keys import (
    INSTEAD,
    KEYS,
    KINDS,
    OTHERS,
    OURS,
    WORKS,
    idle_keys,
    known_keys,
    refuse_misspelt_arrival,
)
from tapestry.errors import ConfigurationError
from tapestry.runs.kinds import registry
from tapestry.runs.kinds.registry import parse_config

MISSPELT = {
    "verfy": "verify",
    "verifiy": "verify",
    "late_row": "late_rows",
    "Late-Rows": "late_rows",
    "expectation": "expectations",
    "expecations": "expectations",
    "memory": "memories",
    "memorys": "memories",
    "arival": "arrival",
    "evrey": "every",
    "uniqe_key": "unique_key",
    "unique_keys": "unique_key",
    "beginn": "begin",
    "infre": "infer",
    "asume": "assume",
    "on_query_chnage": "on_query_change",
    "late-after": "late_after",
    "delivery": "deliver",
    "run_values": None,
    "flag": None,
    "tag": None,
}


def _config(kind: str) -> dict[str, Any]:
    materialized, _, strategy = kind.partition(", ")
    return {"materialized": materialized} | ({"incremental_strategy": strategy} if strategy else {})


def _told(kind: str, key: str, value: Any, place: str) -> list[str]:
    written = {key: value}
    config = _config(kind) | (written if place == "config" else {"meta": written})
    return [idle.key for idle in idle_keys(config, written if place == "config" else {})]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", ["config", "meta"])
def test_a_key_is_told_where_it_does_nothing(kind: str, place: str) -> None:
    for key in (*WORKS, *OTHERS):
        if place == "meta" and key not in KEYS:
            continue
        told = _told(kind, key, "x", place)
        if key in ("clustered_by", "buckets"):
            assert "buckets" in told or "clustered_by" in told  # each is nothing without the other
        elif key == "incremental_strategy" and kind.startswith("incremental"):
            continue  # it is the kind
        elif kind in OURS and key in KEYS and kind not in WORKS[key] and key not in INSTEAD:
            assert told == [], (key, kind)  # another kind's, which a folder may say
        else:
            assert told == ([] if kind in WORKS.get(key, ()) else [key]), (key, kind)
        assert _told(kind, key, None, place) == []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", ["config", "meta"])
@pytest.mark.parametrize(("key", "meant"), MISSPELT.items())
def test_a_misspelt_key_names_the_right_one(
    kind: str, place: str, key: str, meant: str | None
) -> None:
    if meant is None:
        assert _told(kind, key, 1, place) == []
    elif kind in WORKS[meant] and (kind in OURS or not KEYS[meant].word):
        with pytest.raises(ConfigurationError, match=f"did you mean {meant}"):
            _told(kind, key, 1, place)
    else:
        (told,) = idle_keys(
            _config(kind) | ({key: 1} if place == "config" else {"meta": {key: 1}}),
            {key: 1} if place == "config" else {},
        )
        assert (told.key, f"did you mean {meant}" in told.why) == (key, True)


OF_DBT = {
    "materialised": "materialized",
    "incremental_stratgy": "incremental_strategy",
    "partitioned_by": "partition_by",
    "liquid_cluster_by": "liquid_clustered_by",
    "liquid_clustering_by": "liquid_clustered_by",
    "file_formt": "file_format",
    "tblpropertes": "tblproperties",
    "merge_update_column": "merge_update_columns",
    "post_hooks": "post_hook",
    "update_at": "updated_at",
    "check_columns": "check_cols",
    "hard_delete": "hard_deletes",
    "column_type": "column_types",
    "event_date": None,
    "updated_by": None,
    "created_at": None,
    "primary_key": None,
    "partition_field": None,
    "hard_deletes": None,
    "team": None,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("key", "meant"), OF_DBT.items())
def test_a_misspelt_key_of_dbt_is_told_where_that_one_would_do_something(
    kind: str, key: str, meant: str | None
) -> None:
    told = list(idle_keys(_config(kind) | {key: "x"}, {key: "x"}))
    if meant is None or kind not in WORKS.get(meant, KINDS):
        assert told == []
    else:
        (one,) = told
        assert (one.key, one.why.endswith(f"did you mean {meant}?")) == (key, True)


def test_kinds_are_told_as_people_read_them() -> None:
    view = {"materialized": "view", "partition_by": "d", "unique_key": "id"}
    whys = [idle.why for idle in idle_keys(view, view)]
    assert whys[0].endswith("on table, incremental, continuous, maintained, snapshot, seed only")
    assert "on incremental (merge), maintained, snapshot only" in whys[1]


@pytest.mark.parametrize("key", ["arival", "arrivals", "Arrival", "loaded_at_feild"])
@pytest.mark.parametrize("place", ["config", "meta", "under meta of config"])
def test_of_a_source_too(key: str, place: str) -> None:
    said = {key: "ts"}
    node = {
        "config": {"config": said},
        "meta": {"meta": said},
        "under meta of config": {"config": {"meta": said}},
    }[place]
    with pytest.raises(ConfigurationError, match=r"did you mean (arrival|loaded_at_field)"):
        refuse_misspelt_arrival(node)
    refuse_misspelt_arrival({"config": {"meta": {"owner": "x", "freshness": 1}}, "meta": {}})


def test_values_that_say_nothing_new() -> None:
    config = {"materialized": "continuous", "file_format": "delta"}
    assert list(idle_keys(config, config)) == []
    (told,) = idle_keys(config | {"file_format": "parquet"}, {"file_format": "parquet"})
    assert told.key == "file_format"
    assert list(idle_keys({"materialized": "their_own", "sort": "a"}, {"sort": "a"})) == []
    appended = {"materialized": "incremental", "unique_key": "id"}
    (told,) = idle_keys(appended, appended)
    assert "incremental_strategy: merge" in told.why


SAMPLE = {
    "when": "updated price",
    "if": ["big"],
    "evaluate": "gone",
    "bind_as": "moves",
    "after": "3 seconds",
    "key": "id",
    "changes": "log",
    "transaction": "tx",
    "commit_time": "at",
    "order": "seq",
    "op": "what",
    "before": "old_",
    "diff_commits": 5,
    "on_overwrite": "fire",
    "on_changes_gone": "skip",
    "states": {"comps_list": "run"},
    "unique": True,
    "unique_on": ["comp"],
    "batching": "by_clock",
    "together": False,
    "max_batches": 10,
    "cycles": "allow",
    "max_depth": 3,
    "attempts": 2,
    "backoff": "1 minute",
    "timeout": "1 hour",
    "keep": "1 day",
    "deadline": "10 seconds",
    "on_dead": "block",
    "writes": ["prices"],
    "merge_on": ["id"],
    "separable": True,
    "refresh": "full",
    "full_above": 0.5,
    "unique_key": "id",
    "late_rows": "warn",
    "late_after": "2 hours",
    "on_source_rewrite": "refresh",
    "on_query_change": "continue",
    "on_schema_change": "append_new_columns",
    "on_configuration_change": "fail",
    "begin": "2026-01-01",
    "lag": "1 hour",
    "assume": ["r.ts >= m.ts"],
    "running_values": "wanted",
    "instants_limit": 7,
    "infer": False,
    "join_order": ["r1", "r2"],
    "verify": "full",
    "verify_share": 0.5,
    "on_verify_failure": "warn",
    "on_target_change": "accept",
    "expectations": [{"expect": "n > 0"}],
    "deterministic_functions": ["slug"],
    "memories": ["r1"],
    "deliver": [{"name": "files"}],
    "every": "30s",
    "priority": 3,
    "arrival": "static",
}
"""A value of each key of ours that is not its default."""


@pytest.fixture
def _whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.KINDS, "whole", "tests.kinds.whole:Whole")


@pytest.mark.usefixtures("_whole")
@pytest.mark.parametrize("kind", ["continuous", "whole"])
@pytest.mark.parametrize("key", SAMPLE)
@pytest.mark.parametrize("place", ["config", "meta"])
def test_a_key_acts_on_the_kinds_that_have_it_and_is_an_error_of_a_model_s_own_on_others(
    kind: str, key: str, place: str
) -> None:
    said = {key: SAMPLE[key]} if place == "config" else {"meta": {key: SAMPLE[key]}}
    config, given = _config(kind) | said, {key: SAMPLE[key]} if place == "config" else {}
    acts = parse_config(kind, config) != parse_config(kind, {})
    if key in INSTEAD and key not in registry.kind_called(kind).keys.rows:
        assert not acts
        assert [idle.key for idle in idle_keys(config, given, {key})] in ([key], [])  # dbt's own
        return
    assert list(idle_keys(config, given)) == []  # inherited
    if key in registry.kind_called(kind).keys.rows:
        assert acts == (key != "arrival")  # which acts on who reads the model
        assert list(idle_keys(config, given, {key})) == []
        return
    assert not acts
    with pytest.raises(ConfigurationError, match=f"{key} does something on .* is {kind}") as told:
        list(idle_keys(config, given, {key}))
    valid = told.value.hint.partition("valid are: ")[2].split(", ")
    assert (key in valid, "verify" in valid) == (False, True)


@pytest.mark.usefixtures("_whole")
def test_advice_goes_by_kind() -> None:
    """What is near to a key of another kind is no error, and the valid ones are the kind's."""
    with pytest.raises(ConfigurationError, match="did you mean verify") as told:
        list(idle_keys(_config("whole"), {"verfy": "full"}))
    assert "late_rows" not in str(told.value)
    with pytest.raises(ConfigurationError, match="did you mean verify"):
        parse_config("whole", {"verfy": "full"})
    (idle,) = idle_keys(_config("whole"), {"late_row": "warn"})
    assert idle.why.endswith("did you mean late_rows, which does something on continuous?")
    assert parse_config("whole", {"late_row": "warn"}) == parse_config("whole", {})


def test_all_of_ours_are_in_the_table() -> None:
    assert set(KEYS) == set(SAMPLE)
    assert set(KEYS) <= set(WORKS)
    assert not set(WORKS) & set(OTHERS)
    assert set(KEYS) <= known_keys()
