"""dbt's unit tests of a continuous model: now() follows tapestry_as_of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from dbt.tests.util import run_dbt

pytestmark = pytest.mark.gate

MODEL = """
{{ config(materialized='continuous') }}
select m.id from {{ source('bboard', 'messages') }} m where now() >= m.ts + interval 10 days
"""
SCHEMA = """
version: 2
sources:
  - name: bboard
    schema: "{{ target.schema }}"
    tables:
      - {name: messages, config: {loaded_at_field: ts}}
      - {name: not_built, config: {loaded_at_field: ts}}
unit_tests:
  - name: at_its_own_instant
    model: old
    overrides: {vars: {tapestry_as_of: "2026-01-12"}}
    given:
      - input: source('bboard', 'messages')
        rows: [{id: 1, ts: "2026-01-01 00:00:00"}, {id: 2, ts: "2026-01-02 00:00:01"}]
    expect: {rows: [{id: 1}]}
  - name: at_everybodys_instant
    model: old
    given:
      - input: source('bboard', 'messages')
        rows: [{id: 1, ts: "2026-01-01 00:00:00"}, {id: 2, ts: "2026-02-01 00:00:01"}]
    expect: {rows: [{id: 1}]}
"""


class TestClockOfUnitTests:
    """One test says its instant itself, the other takes that of the invocation."""

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"old.sql": MODEL, "schema.yml": SCHEMA}

    def test_now_follows(self, project: Any, as_of: Callable[[str], None]) -> None:
        project.run_sql("create table {schema}.messages (id int, ts timestamp) using delta")
        as_of("2026-02-01")
        results = run_dbt(["test", "--select", "test_type:unit"])
        assert {r.node.name: str(r.status) for r in results} == {
            "at_its_own_instant": "pass",
            "at_everybodys_instant": "pass",
        }
        as_of("2026-03-01")
        results = run_dbt(["test", "--select", "test_type:unit"], expect_pass=False)
        assert {r.node.name: str(r.status) for r in results} == {
            "at_its_own_instant": "pass",
            "at_everybodys_instant": "fail",
        }


NESTED = """
{{ config(materialized='table') }}
select id, point.x as x, names[0] as name, marks['a'] as mark
from {{ source('given', 'points') }}
"""
NESTED_SCHEMA = """
sources:
  - name: given
    schema: "{{ target.schema }}"
    tables: [{name: points}]
unit_tests:
  - name: nested_values
    model: nested
    given:
      - input: source('given', 'points')
        rows:
          - id: 1
            point: "named_struct('x', 1)"
            names: "array('it\\\\'s', 'b')"
            marks: "map('a', 2)"
          - {id: 2, point: 'named_struct("x", 3)', names: 'array("c")', marks: null}
          - {marks: {a: 7, "b's": null}, names: ["it's", d], point: {X: 5}, id: 3}
    expect:
      rows:
        - {id: 1, x: 1, name: "it's", mark: 2}
        - {name: c, x: 3, id: 2}
        - {id: 3, x: 5, name: "it's", mark: 7}
  - name: no_number
    model: nested
    given:
      - input: source('given', 'points')
        rows: [{id: one}]
    expect: {rows: [{id: null}]}
  - name: no_number_in_a_csv
    model: nested
    given:
      - input: source('given', 'points')
        format: csv
        rows: |
          id,point
          1.9,
    expect: {rows: [{id: 1}]}
  - name: no_number_expected
    model: nested
    given: [{input: "source('given', 'points')", rows: [{id: 1}]}]
    expect: {rows: [{id: 1.9}]}
  - name: no_field
    model: nested
    given: [{input: "source('given', 'points')", rows: [{id: 1, point: {y: 1}}]}]
    expect: {rows: [{id: 1}]}
  - name: rows_of_sql
    model: nested
    given:
      - input: source('given', 'points')
        format: sql
        rows: >
          select 1 as id, named_struct('x', 1) as point, array('a') as names, map('a', 2) as marks
    expect: {format: sql, rows: "select 1 as id, 1 as x, 'a' as name, 2 as mark"}
"""


class TestValuesOfUnitTests:
    """A nested value is an expression; a value of another type is no NULL in silence."""

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"nested.sql": NESTED, "schema.yml": NESTED_SCHEMA}

    def test_values(self, project: Any) -> None:
        project.run_sql(
            "create table {schema}.points (id int, point struct<x: int>, names array<string>,"
            " marks map<string, int>) using delta"
        )
        results = run_dbt(["test", "--select", "test_type:unit"], expect_pass=False)
        found = {r.node.name: r for r in results}
        assert str(found["nested_values"].status) == "pass", found["nested_values"].message
        assert str(found["rows_of_sql"].status) == "pass", found["rows_of_sql"].message
        for name, told in {
            "no_number": "given of points: column id (int): 'one' is no number",
            "no_number_in_a_csv": "given of points: column id (int): '1.9' is no whole number",
            "no_number_expected": "expect: column id (int): 1.9 is no whole number",
            "no_field": "column point (struct<x:int>): {'y': 1} has a field y",
        }.items():
            assert str(found[name].status) == "error"
            assert told in found[name].message
            assert "models/schema.yml, row {" in found[name].message


def _test(name: str, model: str, rows: str, expected: str, as_of: str = "2026-01-12") -> str:
    said = f"overrides: {{vars: {{tapestry_as_of: '{as_of}'}}}}" if as_of else "config: {}"
    return f"""
  - name: {name}
    model: {model}
    {said}
    given: [{{input: "source('bboard', 'messages')", rows: [{rows}]}}]
    expect: {{rows: [{expected}]}}"""


def _of_sql(name: str, model: str, given: str, rows: str, expected: str) -> str:
    test = _test(name, model, "", expected)
    asked = f'{{input: "{given}", format: sql, rows: "{rows}"}}'
    return test.replace("""{input: "source('bboard', 'messages')", rows: []}""", asked)


def _model(query: str, config: str = "materialized='continuous'") -> str:
    return (
        "{{ config("
        + config
        + ") }}\n"
        + query.replace("MESSAGES", "{{ source('bboard', 'messages') }}")
    )


OTHERS = {
    "counted": _model("select mode(id) as n from MESSAGES where now() > ts"),
    "exploded": _model("select x from MESSAGES lateral view json_tuple('{}', 'a') e as x"),
    "hourly": _model("select id from MESSAGES where hour(now()) = 0"),
    "assumed": _model(
        "select r.id from MESSAGES m join MESSAGES r on r.id = m.id where now() >= r.ts",
        "materialized='continuous', begin='2026-01-01', lag='1 day', assume=['r.ts >= m.ts']",
    ),
    "wrongly_assumed": _model(
        "select m.id from MESSAGES m where now() >= ts",
        "materialized='continuous', assume=['r.ts >= m.ts']",
    ),
    "plain": _model(
        "select x from MESSAGES lateral view explode(array(id)) e as x where now() > ts",
        "materialized='table'",
    ),
    "part": _model("select id, ts from MESSAGES", "materialized='ephemeral'"),
    "over_part": _model("select id from {{ ref('part') }} where now() >= ts"),
    "counted_over_part": _model("select mode(id) as n from {{ ref('part') }} where now() >= ts"),
    "unbuilt": _model("select id from {{ source('bboard', 'not_built') }} where now() >= ts"),
    "counted_unbuilt": _model(
        "select mode(id) as n from {{ source('bboard', 'not_built') }} where now() >= ts"
    ),
    "counted_table": _model(
        "select count(*) as n from MESSAGES where now() > ts", "materialized='table'"
    ),
}
ROW = '{id: 1, ts: "2026-01-01 00:00:00"}'
SQL_ROW = "select 1 as id, timestamp'2026-01-01' as ts"
NOT_BUILT = "source('bboard', 'not_built')"
KINDS = (
    SCHEMA.partition("unit_tests:")[0]
    + "unit_tests:"
    + "".join(
        [
            _test("refused", "counted", ROW, "{n: 1}"),
            _test("refused_by_the_clock", "counted", ROW, "{n: 1}", as_of=""),
            _test("refused_unread", "exploded", ROW, "{x: 1}"),
            _test("refused_condition", "hourly", ROW, "{id: 1}"),
            _test("refused_assumption", "wrongly_assumed", ROW, "{id: 1}"),
            _test("with_begin_and_lag", "assumed", ROW, "{id: 1}"),
            _test("without_an_arrival", "assumed", "{id: 1}", ""),
            _of_sql("ephemeral", "over_part", "ref('part')", SQL_ROW, "{id: 1}"),
            _of_sql("refused_ephemeral", "counted_over_part", "ref('part')", SQL_ROW, "{n: 1}"),
            _of_sql("unbuilt_table", "unbuilt", NOT_BUILT, SQL_ROW, "{id: 1}"),
            _of_sql("refused_unbuilt", "counted_unbuilt", NOT_BUILT, SQL_ROW, "{n: 1}"),
            _test("another_kind", "plain", ROW, "{x: 1}"),
            _test("another_kind_at_an_instant", "counted_table", ROW, "{n: 0}", as_of="2025-01-01"),
        ]
    )
)


class TestKindsOfModels:
    """A unit test of a query that a run refuses fails; one of a table is as it was."""

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {**{f"{name}.sql": text for name, text in OTHERS.items()}, "schema.yml": KINDS}

    def test_what_a_run_refuses_does_not_pass(self, project: Any, capsys: Any) -> None:
        project.run_sql("create table {schema}.messages (id int, ts timestamp) using delta")
        results = run_dbt(["test", "--select", "test_type:unit"], expect_pass=False)
        assert {r.node.name: str(r.status) for r in results} == {
            "refused": "error",
            "refused_by_the_clock": "error",
            "refused_unread": "error",
            "refused_condition": "error",
            "refused_assumption": "error",
            "with_begin_and_lag": "pass",
            "without_an_arrival": "pass",
            "ephemeral": "pass",
            "refused_ephemeral": "error",
            "unbuilt_table": "pass",
            "refused_unbuilt": "error",
            "another_kind": "pass",
            "another_kind_at_an_instant": "pass",
        }
        told = {r.node.name: str(r.message) for r in results}
        assert "[no-order]" in told["refused"]
        assert "[unsupported-clause]" in told["refused_unread"]
        assert "[odd-assumption]" in told["refused_assumption"]
        assert "[no-order]" in told["refused_ephemeral"]
        assert "[no-order]" in told["refused_unbuilt"]
        out = capsys.readouterr().out
        assert "its now() is the real one" not in out
        assert "it was not asked whether a run would refuse" not in out
