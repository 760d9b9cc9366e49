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
