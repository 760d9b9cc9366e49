"""What Great Expectations itself finds, and what our conditions find in its place."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.spark.run_world import ALL, World

from tapestry.errors import ConfigurationError, ExpectationFailed
from tapestry.runs.after.documents import KEPT, build_data_docs, write_results
from tapestry.runs.engine.session import ONLY_SQL
from tapestry.runs.expectations import great
from tapestry.runs.expectations.row_conditions import condition_of, on_rows
from tapestry.runs.kinds.registry import execute, prepare
from tapestry.runs.model.declare import parse_expectations

CASES: list[tuple[str, dict[str, Any]]] = [
    ("expect_column_values_to_not_be_null", {"column": "a"}),
    ("expect_column_values_to_be_null", {"column": "a"}),
    ("expect_column_values_to_be_in_set", {"column": "a", "value_set": [1, 3]}),
    ("expect_column_values_to_be_in_set", {"column": "t", "value_set": ["x", "it's"]}),
    ("expect_column_values_to_be_in_set", {"column": "t", "value_set": ["x", None]}),
    ("expect_column_values_to_not_be_in_set", {"column": "a", "value_set": [1]}),
    ("expect_column_values_to_be_between", {"column": "a", "min_value": 1.5, "max_value": 2}),
    ("expect_column_values_to_be_between", {"column": "a", "min_value": 2}),
    ("expect_column_values_to_be_between", {"column": "f", "min_value": 1.5, "max_value": 2.5}),
    (
        "expect_column_values_to_be_between",
        {"column": "a", "min_value": 1, "max_value": 3, "strict_min": True, "strict_max": True},
    ),
    ("expect_column_values_to_be_between", {"column": "d", "min_value": "2026-01-02"}),
    ("expect_column_value_lengths_to_be_between", {"column": "t", "min_value": 2}),
    ("expect_column_value_lengths_to_equal", {"column": "t", "value": 4}),
    ("expect_column_values_to_match_regex", {"column": "t", "regex": "^x\\d*$"}),
    ("expect_column_values_to_not_match_regex", {"column": "t", "regex": "\\d"}),
    ("expect_column_values_to_match_like_pattern", {"column": "t", "like_pattern": "x%"}),
    ("expect_column_values_to_not_match_like_pattern", {"column": "t", "like_pattern": "x_"}),
    ("expect_column_pair_values_to_be_equal", {"column_A": "a", "column_B": "b"}),
    (
        "expect_column_pair_values_to_be_equal",
        {"column_A": "a", "column_B": "b", "ignore_row_if": "either_value_is_missing"},
    ),
    ("expect_column_pair_values_a_to_be_greater_than_b", {"column_A": "a", "column_B": "b"}),
    (
        "expect_column_pair_values_a_to_be_greater_than_b",
        {"column_A": "a", "column_B": "b", "or_equal": True},
    ),
]


def test_our_conditions_count_what_great_expectations_counts(session: Any, schema: str) -> None:
    session.run(
        f"create table {schema}.t using delta as select * from values"
        " (1, 1, 1.0D, 'x', date'2026-01-01'), (2, 1, 1.5D, 'x1', date'2026-01-02'),"
        " (3, 4, 2.5D, 'it\\'s', null), (null, 1, null, null, date'2026-01-03'),"
        " (2, null, double('nan'), '', null), (null, null, 9.0D, 'y22', date'2025-01-01'),"
        " (1, 1, -0.0D, 'x', date'2026-01-01') as t(a, b, f, t, d)"
    )
    assert {kind for kind, _ in CASES} == set(on_rows())
    wanted = parse_expectations(
        [{kind: arguments, "name": f"{k}"} for k, (kind, arguments) in enumerate(CASES)]
    )
    found = great.run(session.frame(f"select * from {schema}.t"), wanted)
    # Great Expectations has no LIKE on Spark: there, only ours says anything.
    alone = [one.kind for one, theirs in zip(wanted, found, strict=True) if theirs.error]
    assert all("like_pattern" in kind for kind in alone)
    items = ", ".join(f"count_if(not ({condition_of(one)}))" for one in wanted)
    (counts,) = session.rows(f"select {items} from {schema}.t")
    pairs = zip(counts, found, strict=True)
    assert not [(ours, one) for ours, one in pairs if not one.error and ours != one.violations]
    assert any(counts)


def test_expectations_on_all_rows(world: World) -> None:
    model = world.model(
        ALL,
        expectations=[
            {"expect_column_values_to_be_unique": {"column": "AUTHOR"}},
            {"expect_table_row_count_to_be_between": {"min_value": 1}, "on_violation": "fail"},
            {"expect_column_mean_to_be_between": {"column": "id", "max_value": 1}},
            {"expect_column_values_to_be_between": {"column": "id", "max_value": 1, "mostly": 0.3}},
            {"expect_column_to_exist": {"column": "nowhere"}, "name": "exists"},
        ],
    )
    outcome = world.run(model, 10)
    assert [(r.status, r.violations) for r in outcome.results] == [
        ("warn", 2),
        ("pass", 0),
        ("warn", 1),
        ("pass", 2),
        ("warn", 1),
    ]
    assert [r.checked_rows for r in outcome.results] == [3] * 5
    world.add((9, "z", None, 12))
    strict = world.model(
        ALL,
        expectations=[
            {"expect_table_row_count_to_equal": {"value": 7}, "on_violation": "fail"},
        ],
    )
    with pytest.raises(ExpectationFailed, match="expect_table_row_count_to_equal"):
        world.run(strict, 20)
    assert [i for i, _ in world.answers()] == [1, 2, 3]


def test_without_a_dataframe_it_is_refused(world: World) -> None:
    world.session.can = ONLY_SQL
    unique = world.model(
        ALL, expectations=[{"expect_column_values_to_be_unique": {"column": "id"}}]
    )
    with pytest.raises(ConfigurationError, match="has none"):
        world.run(unique, 10)
    known = {"expect_column_values_to_not_be_null": {"column": "author"}, "on_violation": "drop"}
    assert world.run(world.model(ALL, expectations=[known]), 10).rejected_rows == 0


def test_data_docs_show_everything(world: World, tmp_path: Path) -> None:
    model = world.model(
        ALL,
        expectations=[
            {"name": "<script>alert(1)</script>", "expect": "id <> 2"},
            {"expect_column_values_to_not_be_null": {"column": "author"}},
            {"expect_column_values_to_be_unique": {"column": "author"}},
            {"name": "broken", "expect": "if(id = 2, raise_error('two') is null, true)"},
        ],
    )
    invocation = world.invocation(10)
    execute(world.session, prepare(world.session, model, invocation), invocation)
    (path,) = write_results(tmp_path, "one", invocation.log)
    result = json.loads(path.read_text())
    assert result["statistics"]["evaluated_expectations"] == 4
    assert result["statistics"]["successful_expectations"] == 1
    index = build_data_docs(tmp_path)
    assert index is not None
    assert index.exists()
    (page,) = index.parent.glob("validations/**/*.html")
    text = page.read_text()
    assert "<script>alert(1)" not in text
    assert "id &lt;&gt; 2" in text
    assert "values must never be null" in text
    for k in range(KEPT + 3):
        write_results(tmp_path, f"run{k}", invocation.log)
    assert len(list((tmp_path / "great_expectations").rglob("*target-*.json"))) == KEPT


def test_it_is_loaded_only_where_it_is_needed() -> None:
    code = (
        "import sys; from tapestry.runs.protocol import run, log; "
        "from tapestry.runs.checks import dbt_models; "
        "from tapestry.runs.after import documents; "
        "from tapestry.runs.kinds.registry import parse_config; "
        "parse_config('continuous', {'expectations': [{'expect': 'a > 0'},"
        " {'expect_column_values_to_not_be_null': {'column': 'a'}}]}); "
        "sys.exit('great_expectations' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
