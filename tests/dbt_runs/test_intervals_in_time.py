"""Intervals of several units in real runs to the end of their window, beside Spark's answers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from dbt.tests.util import run_dbt

CONDITION = (
    "now() >= ts + interval '1 day' * 3"
    " and now() < ts + interval '2' day '12' hours * 2 + interval -'1' day"
)
MODEL = (
    "{{ config(materialized='continuous', verify='full') }}\n"
    "select kind, ts, n from {{ source('shop', 'events') }} where " + CONDITION
)
SOURCES = """
version: 2
sources:
  - name: shop
    schema: "{{ target.schema }}"
    tables: [{name: events, config: {loaded_at_field: ts}}]
"""
FIRST, STEP = datetime(2026, 1, 1), timedelta(hours=6)
RUNS = ("2026-01-04T06:00:00Z", "2026-01-05T00:00:00Z", "2026-01-06T12:00:00Z", "2026-01-12")
"""In the middle of windows, at an edge, over a whole one, and behind the end of the last."""


def _literal(s: datetime) -> str:
    return f"timestamp'{s:%Y-%m-%d %H:%M:%S.%f}'"


class TestIntervals:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"schema.yml": SOURCES, "lasting.sql": MODEL}

    def test_runs_to_the_end_give_what_spark_answers(
        self, project: Any, as_of: Callable[[str], None]
    ) -> None:
        """Each row begins at the first instant at which Spark's own answer to the text has it."""
        project.run_sql(
            "create table {schema}.events (kind string, ts timestamp, n int) using delta"
        )
        project.run_sql(
            "insert into {schema}.events values ('a', timestamp'2026-01-01', 1),"
            " ('a', timestamp'2026-01-01', 1), ('a', timestamp'2026-01-01', null),"
            " (null, timestamp'2026-01-02 06:00:00', 2), ('b', timestamp'2026-01-02 06:00:00', 2),"
            " ('b', timestamp'2026-01-04 18:00:00', 3), ('c', null, 4)"
        )
        for t in RUNS:
            as_of(t)
            run_dbt(["run"])
        begun: dict[tuple[Any, ...], str] = {}
        most: Counter[tuple[Any, ...]] = Counter()
        held: Counter[tuple[Any, ...]] = Counter()
        for place in range(44):  # eleven days
            s = FIRST + place * STEP
            rows = project.run_sql(
                "select kind, ts, n from {schema}.events where "
                + CONDITION.replace("now()", _literal(s)),
                fetch="all",
            )
            now = Counter(tuple(row) for row in rows)
            for row in now:
                begun.setdefault(row, f"{s:%d %H}")
            most |= now
            held.update(now.keys())
        delivered = project.run_sql(
            "select kind, ts, n, date_format(_matched_at, 'dd HH') from {schema}.lasting",
            fetch="all",
        )
        assert Counter(tuple(row[:3]) for row in delivered) == most
        assert {tuple(row[:3]): row[3] for row in delivered} == begun
        assert most.total() == 6
        assert set(held.values()) == {4}  # the fourth day and no other
        details = project.run_sql(
            "select status, details from {schema}.tapestry_checks where level = 'full'",
            fetch="all",
        )
        assert len(details) == 2 * len(RUNS)
        for status, text in details:
            assert status == "pass"
            assert json.loads(text)["own_text"].startswith("asked at ")
