"""Incremental models, by each strategy, whose query has other columns than their table."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.util import run_dbt, run_dbt_and_capture

STRATEGIES = {
    "append": "",
    "merge": ", unique_key='id'",
    "insert_overwrite": ", partition_by=['y']",
    "microbatch": ", partition_by=['y'], event_time='ts', batch_size='year', begin='2026-01-01'",
}
HEAD = "config(materialized='incremental', incremental_strategy='{strategy}', {rest})"
TS = "timestamp'2026-02-03' ts, 2026 y"
FIRST = f"select 1 id, cast(1 as int) n, 'a' gone, {TS}"
# Situation: on_schema_change and other settings, the query of the later runs; what those give (rows
# of the table, columns in order) or words of the error.
MAPPED = "tblproperties={'delta.columnMapping.mode': 'name'}"
WIDE = "tblproperties={'delta.enableTypeWidening': 'true'}"
SITUATIONS: dict[str, tuple[str, str, Any]] = {
    "appended": (
        "on_schema_change='append_new_columns'",
        f"select 2 id, 2 n, {TS}, 'x' added",
        ("id, n, gone, added", [(1, 1, "a", None), (2, 2, None, "x")]),
    ),
    "ignored": (
        "on_schema_change='ignore'",
        f"select 2 id, 2 n, {TS}",
        "the query no longer has gone, which the table has",
    ),
    "cut": (
        "on_schema_change='ignore'",
        f"select 2 id, 1.9D n, 'b' gone, {TS}",
        "`n` is double in the query now, and int in the table cuts the value 1.9",
    ),
    "cut_appended": (
        "on_schema_change='append_new_columns'",
        f"select 2 id, 1.9 n, 'b' gone, {TS}, 'x' added",
        "`n` is decimal(2,1) in the query now, and int in the table cuts the value 1.9",
    ),
    "fits": (
        "on_schema_change='append_new_columns'",
        f"select 2 id, 2.0D n, 'b' gone, {TS}, map(1, 2) added union all"
        f" select 3, null, 'c', {TS}, null",
        ("id, n, gone, added[1]", [(1, 1, "a", None), (2, 2, "b", 2), (3, None, "c", None)]),
    ),
    "held": (
        "on_schema_change='append_new_columns'",
        f"select 2L id, 2L n, 'b' gone, {TS}",
        ("id, n, gone", [(1, 1, "a"), (2, 2, "b")]),
    ),
    "unmapped": (
        "on_schema_change='sync_all_columns'",
        f"select 2 id, 2 n, {TS}, 'x' added",
        "SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')",
    ),
    "synced": (
        f"on_schema_change='sync_all_columns', {MAPPED}",
        f"select 2 id, 2 n, {TS}, 'x' added",
        ("*", [(1, 1, None), (2, 2, "x")]),
    ),
    "widened": (
        f"on_schema_change='sync_all_columns', {WIDE}",
        f"select 2 id, 3000000000 n, 'b' gone, {TS}",
        ("id, n, gone", [(1, 1, "a"), (2, 3000000000, "b")]),
    ),
    "not_widened": (
        "on_schema_change='sync_all_columns'",
        f"select 2 id, 3000000000 n, 'b' gone, {TS}",
        "SET TBLPROPERTIES ('delta.enableTypeWidening' = 'true')",
    ),
    "failing": (
        "on_schema_change='fail'",
        f"select 2 id, 2 n, {TS}",
        "no column gone any more",
    ),
    "promised": (
        "on_schema_change='append_new_columns', contract={'enforced': true}",
        f"select 2 id, 2 n, 'b' gone, {TS}, 'x' added",
        "contract",
    ),
    "promised_type": (
        "on_schema_change='append_new_columns', contract={'enforced': true}",
        f"select 2 id, 2L n, 'b' gone, {TS}",
        "contract",
    ),
    "promised_check": (
        "on_schema_change='append_new_columns', contract={'enforced': true}",
        f"select 2 id, 2 n, cast(null as string) gone, {TS}",
        "violated",
    ),
}
CONTRACT = """
    columns:
      - {name: id, data_type: int}
      - {name: n, data_type: int}
      - {name: gone, data_type: string, constraints: [{type: not_null}]}
      - {name: ts, data_type: timestamp}
      - {name: y, data_type: int}
"""


def _name(situation: str, strategy: str) -> str:
    return f"{situation}__{strategy}"


def _model(situation: str, strategy: str) -> str:
    rest, later, _ = SITUATIONS[situation]
    head = HEAD.format(strategy=strategy, rest=rest + STRATEGIES[strategy])
    # Another partition: what is replaced is not what is looked at.
    later = later.replace("2026 y", "2027 y") if strategy == "insert_overwrite" else later
    later = later if strategy != "microbatch" else later.replace("2026 y", "2027 y")
    return (
        f"{{{{ {head} }}}} {{% if is_incremental() %}} {later} {{% else %}} {FIRST} {{% endif %}}"
    )


class IncrementalColumns:
    strategies: tuple[str, ...] = ()

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        names = [(one, s) for one in SITUATIONS for s in self.strategies]
        yaml = "".join(f"  - name: {_name(*n)}{CONTRACT}" for n in names if "promised" in n[0])
        return {
            "schema.yml": f"version: 2\nmodels:\n{yaml}",
            **{f"{_name(*n)}.sql": _model(*n) for n in names},
        }

    def test_runs(self, project: Any) -> None:
        run_dbt(["run"])
        results, output = run_dbt_and_capture(["run"], expect_pass=False)
        said = {r.node.name: (str(r.status), str(r.message)) for r in results}
        for strategy in self.strategies:
            for situation, (_, _, expected) in SITUATIONS.items():
                name = _name(situation, strategy)
                status, message = said[name]
                if isinstance(expected, str):
                    assert status == "error", (name, message)
                    # Of a batch dbt says only in the log what was wrong.
                    told = output if strategy == "microbatch" else message
                    assert expected in told, (name, message)
                    columns, rows = "id, n, gone, ts, y", None
                else:
                    assert status == "success", (name, message)
                    columns, rows = expected
                    columns = "* except (ts, y)" if columns == "*" else columns
                found = project.run_sql(
                    f"select {columns} from {{schema}}.{name} order by id", fetch="all"
                )
                if rows is None:
                    assert [tuple(row)[:3] for row in found] == [(1, 1, "a")], name
                    there = project.run_sql(f"select * from {{schema}}.{name}", fetch="all")
                    assert len(there[0]) == 5, name
                else:
                    assert [tuple(row) for row in found] == rows, name


class TestByMerge(IncrementalColumns):
    strategies = ("merge",)


# The type in the table, the query's value of the later run, and the value that is kept.
FITTING = {
    "cents": ("decimal(20,2)", "cast(1.250000 as decimal(38,6))", "1.25"),
    "real": ("float", "0.1D", "0.1"),
    "whole": ("double", "7L", "7.0"),
    "day": ("date", "date_trunc('day', timestamp'2026-02-03 10:00:00')", "2026-02-03"),
    "text": ("varchar(3)", "'abc'", "abc"),
    "long": ("int", "3L", "3"),
}
CUT = {
    "cents": ("decimal(20,2)", "cast(1.255 as decimal(38,6))", "1.255000"),
    "real": ("float", "1e300D", "1.0E300"),
    "whole": ("double", "9007199254740993L", "9007199254740993"),
    "day": ("date", "timestamp'2026-02-03 10:00:00'", "2026-02-03 10:00:00"),
    "large": ("int", "3000000000D", "3.0E9"),
    "nan": ("int", "double('nan')", "NaN"),
}


class TestFittingValues:
    """A type that may cut values stops a run only at a value that it would cut."""

    @staticmethod
    def _model(strategy: str, cases: dict[str, tuple[str, str, str]]) -> str:
        first = ", ".join(f"cast(null as {kind}) {name}" for name, (kind, _, _) in cases.items())
        later = ", ".join(f"{value} {name}" for name, (_, value, _) in cases.items())
        head = HEAD.format(strategy=strategy, rest="unique_key='id'")
        return (
            f"{{{{ {head} }}}} {{% if is_incremental() %}} with q as (select 2 id, {later})"
            f" select * from q {{% else %}} select 1 id, {first} {{% endif %}} -- end"
        )

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "fitting.sql": self._model("append", FITTING),
            "merged.sql": self._model("merge", FITTING),
            **{f"cut_{name}.sql": self._model("append", {name: CUT[name]}) for name in CUT},
        }

    def test_runs(self, project: Any) -> None:
        run_dbt(["run"])
        results = run_dbt(["run"], expect_pass=False)
        said = {r.node.name: (str(r.status), str(r.message)) for r in results}
        for name in ("fitting", "merged"):
            assert said[name][0] == "success", said[name]
            texts = ", ".join(f"cast({column} as string)" for column in FITTING)
            rows = project.run_sql(f"select {texts} from {{schema}}.{name} where id = 2", "all")
            assert [tuple(row) for row in rows] == [tuple(kept for _, _, kept in FITTING.values())]
        for name, (_, _, told) in CUT.items():
            status, message = said[f"cut_{name}"]
            assert status == "error", name
            assert f"cuts the value {told}" in message, (name, message)
            assert project.run_sql(f"select id from {{schema}}.cut_{name}", "all")[0][0] == 1
            assert len(project.run_sql(f"select id from {{schema}}.cut_{name}", "all")) == 1


@pytest.mark.more
class TestByOtherStrategies(IncrementalColumns):
    strategies = ("append", "insert_overwrite", "microbatch")
