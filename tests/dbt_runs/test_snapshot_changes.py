"""Snapshots over keys that look alike, expressions, other letters, other types and double keys."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from dbt.tests.util import run_dbt

CHECK = {"strategy": "check", "check_cols": "all"}
Case = tuple[dict[str, Any], list[str], Any]
CASES: dict[str, Case] = {
    # Settings; the query of each run; the number of records at the end and of ended ones, or words.
    "alike": (
        {**CHECK, "unique_key": ["a", "b"]},
        [
            f"select 'x|y' a, 'z' b, {v} v union all select 'x', 'y|z', 1"
            " union all select '', 'z', 1 union all select null, 'z', 1"
            for v in (1, 2)
        ],
        (5, 1),
    ),
    "updated_by_expression": (
        {"strategy": "timestamp", "updated_at": "cast(u as timestamp)", "unique_key": "a"},
        [f"select 1 a, '2024-01-0{day}' u" for day in (1, 2)],
        (2, 1),
    ),
    "updated_at_null": (
        {"strategy": "check", "check_cols": ["v"], "updated_at": "u", "unique_key": "a"},
        [
            f"select 1 a, {v} v, cast(null as timestamp) u union all select null, {v}, {date}"
            for v, date in ((1, "null"), (2, "timestamp'2024-01-02'"), (3, "null"))
        ],
        (6, 4),
    ),
    "checks_expression": (
        {"strategy": "check", "check_cols": ["lower(v)"], "unique_key": "a"},
        [f"select 1 a, '{v}' v" for v in ("X", "x")],
        (1, 0),
    ),
    "other_letters": (
        {**CHECK, "unique_key": "a"},
        ["select 1 a, 1 amount", "select 1 A, 2 AMOUNT"],
        (2, 1),
    ),
    "wider": ({**CHECK, "unique_key": "a"}, ["select 1 a, '07' v", "select 1 a, 7 v"], (2, 1)),
    "narrower": (
        {**CHECK, "unique_key": "a"},
        ["select 1 a, 1.25 v", "select 1 a, 1.255 v"],
        "decimal(4,3) in the query and decimal(3,2) in the snapshot",
    ),
    "double_key": (
        {"strategy": "timestamp", "updated_at": "u", "unique_key": "a"},
        ["select 1 a, date'2024-01-01' u union all select 1, date'2024-01-02'"] * 2,
        'leave out all of them but one: {"dbt_internal_key_1":1}',
    ),
}


def _text(name: str, run: int) -> str:
    config, queries, _ = CASES[name]
    settings = ", ".join(f"{key}={json.dumps(value)}" for key, value in config.items())
    query = queries[min(run, len(queries) - 1)]
    return f"{{% snapshot {name} %}}{{{{ config({settings}) }}}}\n{query}\n{{% endsnapshot %}}"


class TestSnapshotColumns:
    @pytest.fixture(scope="class")
    def snapshots(self) -> dict[str, str]:
        return {f"{name}.sql": _text(name, 0) for name in CASES}

    def test_runs(self, project: Any) -> None:
        said: dict[str, str] = {}
        for run in range(max(len(queries) for _, queries, _ in CASES.values())):
            names = [name for name, case in CASES.items() if run < len(case[1])]
            for name in names:
                file = Path(project.project_root) / "snapshots" / f"{name}.sql"
                file.write_text(_text(name, run), "utf-8")
            results = run_dbt(["snapshot", "--select", *names], expect_pass=None)
            said |= {r.node.name: str(r.message) for r in results if str(r.status) != "success"}
        for name, (_, _, expected) in CASES.items():
            if isinstance(expected, str):
                assert expected in said[name]
                continue
            assert name not in said, said[name]
            counted = "select count(*), count(dbt_valid_to), count(distinct dbt_scd_id)"
            found = project.run_sql(f"{counted} from {{schema}}.{name}", fetch="one")
            assert tuple(found) == (*expected, expected[0]), name


def _snapshot(name: str, query: str, **config: Any) -> str:
    settings = ", ".join(f"{key}={json.dumps(value)}" for key, value in {**CHECK, **config}.items())
    return f"{{% snapshot {name} %}}{{{{ config({settings}) }}}}\n{query}\n{{% endsnapshot %}}"


class TestWhatToDo:
    """What an error says to do lets the snapshot go on."""

    STEPS = (
        ("select 1 a, struct(1 as x) s, 1.25 n union all select null, null, null", "9999"),
        (
            "select 1 a, struct(2 as y, 1 as x) s, 10.2555 n union all select null, null, null",
            "9998",
        ),
    )

    @pytest.fixture(scope="class")
    def snapshots(self) -> dict[str, str]:
        return self.texts(0)

    def texts(self, step: int) -> dict[str, str]:
        query, year = self.STEPS[step]
        ends = f"timestamp'{year}-01-01'"
        return {
            "grown.sql": _snapshot("grown", query, unique_key="a"),
            "ended.sql": _snapshot(
                "ended", "select 1 a", unique_key="a", dbt_valid_to_current=ends
            ),
            "clocked.sql": _snapshot(
                "clocked",
                "select 1 a",
                unique_key="a",
                dbt_valid_to_current="now() + interval 1 day",
            ),
        }

    def run(self, project: Any) -> dict[str, str]:
        results = run_dbt(["snapshot"], expect_pass=None)
        return {r.node.name: str(r.message) for r in results if str(r.status) != "success"}

    def test_it(self, project: Any) -> None:
        said = self.run(project)
        assert list(said) == ["clocked"]
        assert "now() + interval 1 day reads the clock" in said["clocked"]
        for name, text in self.texts(1).items():
            (Path(project.project_root) / "snapshots" / name).write_text(text, "utf-8")
        for _ in range(2):  # the column s, then the column n
            said = self.run(project)
            first, _, advice = said["grown"].partition("let the snapshot have it, once: ")
            assert "in the query and" in first
            for statement in advice.split(";"):
                project.run_sql(statement.strip())
        assert "another dbt_valid_to_current than timestamp'9998-01-01'" in said["ended"]
        project.run_sql("update {schema}.ended set dbt_valid_to = timestamp'9998-01-01'")
        assert list(self.run(project)) == ["clocked"]
        rows = project.run_sql(
            "select s.x, s.y, n, dbt_valid_to is null from {schema}.grown", fetch="all"
        )
        found = sorted((tuple(row) for row in rows), key=repr)
        assert [str(row) for row in found] == [
            "(1, 2, Decimal('10.2555'), True)",
            "(1, None, Decimal('1.2500'), False)",
            "(None, None, None, True)",
        ]
        (count,) = project.run_sql("select count(*) from {schema}.ended", fetch="one")
        assert count == 1
