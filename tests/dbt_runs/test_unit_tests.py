"""dbt's unit tests of a continuous model: now() follows tapestry_as_of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from dbt.tests.util import run_dbt

MODEL = """
{{ config(materialized='continuous') }}
select m.id from {{ source('bboard', 'messages') }} m where now() >= m.ts + interval 10 days
"""
SCHEMA = """
version: 2
sources:
  - name: bboard
    schema: "{{ target.schema }}"
    tables: [{name: messages, config: {loaded_at_field: ts}}]
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
    expect:
      rows:
        - {id: 1, x: 1, name: "it's", mark: 2}
        - {id: 2, x: 3, name: c, mark: null}
  - name: no_number
    model: nested
    given:
      - input: source('given', 'points')
        rows: [{id: one}]
    expect: {rows: [{id: null}]}
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
        assert str(found["no_number"].status) == "error"
        assert "a unit test gives 'one', which is no int" in found["no_number"].message
