"""What this adapter adds to dbt-spark, on one small project."""

from __future__ import annotations

import datetime as dt
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dbt.tests.util import get_connection, run_dbt, run_dbt_and_capture
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.tapestry.session import DbtSession

SEED = """id,name,at
1,it's,2020-01-01 00:00:00
2,,2020-03-29 02:30:00
3,back\\slash %s,
9007199254740993,"two
lines",2020-01-02 00:00:00
"""
PYTHON_BROKEN = """
def model(dbt, session):
    session.sql("select 1")
    return session.table("nothing_there")
"""


def _rows(project: Any, sql: str, before: str = "") -> list[tuple[Any, ...]]:
    """Through a connection of its own: each invocation of dbt closes the ones before."""
    with get_connection(project.adapter):
        session = DbtSession(project.adapter)
        if before:
            session.run(before)
        return session.rows(sql)


@pytest.fixture
def elsewhere() -> Iterator[None]:
    """The Python process in a zone with summer time."""
    before = os.environ.get("TZ")
    os.environ["TZ"] = "Europe/Berlin"
    time.tzset()
    yield
    if before is None:
        del os.environ["TZ"]
    else:
        os.environ["TZ"] = before
    time.tzset()


class TestProject:
    @pytest.fixture(scope="class")
    def seeds(self) -> dict[str, str]:
        return {"people.csv": SEED}

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "copied.sql": "{{ config(materialized='table') }} select * from {{ ref('people') }}",
            "broken.sql": "select nmae from {{ ref('people') }}",
            "failing.sql": (
                "{{ config(materialized='table') }} "
                "select concat(name, raise_error('boom')) as x from {{ ref('people') }}"
            ),
            "python_broken.py": PYTHON_BROKEN,
        }

    def test_a_seed_is_rewritten_in_one_commit_of_one_history(self, project: Any) -> None:
        table = f"{project.test_schema}.people"
        histories = []
        for _ in range(2):
            assert len(run_dbt(["seed"])) == 1
            (detail,) = _rows(project, f"describe detail {table}")
            versions = [row[0] for row in _rows(project, f"describe history {table}")]
            histories.append((detail[4], versions))
        location = histories[0][0]
        assert histories == [(location, [0]), (location, [1, 0])]

    def test_seed_values_arrive_as_they_are(self, project: Any, elsewhere: None) -> None:
        run_dbt(["seed"])
        sql = f"select id, name, at from {project.test_schema}.people order by id"
        utc = dt.timezone.utc
        assert _rows(project, sql) == [
            (1, "it's", dt.datetime(2020, 1, 1, tzinfo=utc)),
            (2, None, dt.datetime(2020, 3, 29, 2, 30, tzinfo=utc)),
            (3, "back\\slash %s", None),
            (9007199254740993, "two\nlines", dt.datetime(2020, 1, 2, tzinfo=utc)),
        ]

    def test_a_table_is_replaced_in_place_as_delta(self, project: Any) -> None:
        table = f"{project.test_schema}.copied"
        for _ in range(2):
            run_dbt(["build", "--select", "people", "copied"])
        (detail,) = _rows(project, f"describe detail {table}")
        assert detail[0] == "delta"
        assert [row[0] for row in _rows(project, f"describe history {table}")] == [1, 0]

    def test_rows_are_python_values(self, project: Any) -> None:
        ((*values, instant),) = _rows(
            project,
            "select a, 'x', null, date'2020-02-29', true, timestamp'2020-10-25 02:30:00.000001Z'"
            " from v",
            before="create or replace temporary view v as select 1 as a",
        )
        assert values == [1, "x", None, dt.date(2020, 2, 29), True]
        assert instant == dt.datetime(2020, 10, 25, 2, 30, 0, 1, tzinfo=dt.timezone.utc)

    @pytest.mark.parametrize(
        ("model", "expected"),
        [
            ("broken", "[UNRESOLVED_COLUMN.WITH_SUGGESTION]"),
            ("failing", "boom"),
            ("python_broken", "[TABLE_OR_VIEW_NOT_FOUND]"),
        ],
    )
    def test_errors_are_short(self, project: Any, model: str, expected: str) -> None:
        run_dbt(["seed"])
        results, output = run_dbt_and_capture(["run", "--select", model], expect_pass=False)
        message = results[0].message
        assert expected in message
        assert len(message.splitlines()) <= 10
        for noise in ("Traceback", "\tat ", "java.lang", "py4j", "JVM stacktrace"):
            assert noise not in output

    def test_a_failing_query_is_a_short_error_too(self, project: Any) -> None:
        with pytest.raises(DbtRuntimeError) as error:
            run_dbt(["show", "--inline", "select raise_error('boom')"], expect_pass=False)
        assert "[USER_RAISED_EXCEPTION] boom" in str(error.value)
        assert len(str(error.value).splitlines()) <= 5


UTILS = """
{% macro get_relations_by_prefix(schema, prefix, exclude='', database=target.database) %}
  {% set found = adapter.dispatch('get_relations_by_prefix', 'dbt_utils') %}
  {{ return(found(schema, prefix, exclude, database)) }}
{% endmacro %}
{% macro default__get_relations_by_prefix(schema, prefix, exclude, database) %}
  {{ return(run_query("select 1 from " ~ database ~ ".information_schema.tables")) }}
{% endmacro %}
{% macro get_tables_by_pattern_sql(schema, pattern, exclude='', database=target.database) %}
  {% set found = adapter.dispatch('get_tables_by_pattern_sql', 'dbt_utils') %}
  {{ return(found(schema, pattern, exclude, database)) }}
{% endmacro %}
"""
DAYS = """
-- depends_on: {{ ref('day_1') }}, {{ ref('day_2') }}
{% for relation in dbt_utils.get_relations_by_prefix(target.schema, 'DAY_', '%_old') %}
select '{{ relation.identifier }}' as name, '{{ relation.type }}' as kind, id from {{ relation }}
{{ "union all" if not loop.last }}
{% endfor %}
"""
LISTED = """
-- depends_on: {{ ref('days') }}
{{ dbt_utils.get_tables_by_pattern_sql(target.schema, 'day%', '%old') }}
"""


class TestPackagesThatAskTheInformationSchema:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        day = "{{{{ config(materialized='{}') }}}} select {} as id"
        return {
            "day_1.sql": day.format("table", 1),
            "day_2.sql": day.format("view", 2),
            "day_0_old.sql": day.format("table", 0),
            "days.sql": "{{ config(materialized='table') }}" + DAYS,
            "listed.sql": "{{ config(materialized='table') }}" + LISTED,
        }

    @pytest.fixture(scope="class")
    def packages(self) -> dict[str, Any]:
        return {"packages": [{"local": "utils"}]}

    def test_they_get_the_catalog_s_listing(self, project: Any) -> None:
        package = Path(project.project_root) / "utils"
        (package / "macros").mkdir(parents=True)
        (package / "dbt_project.yml").write_text("name: dbt_utils\nversion: '1.0'\n")
        (package / "macros" / "utils.sql").write_text(UTILS)
        run_dbt(["deps"])
        assert len(run_dbt(["run"])) == 5
        schema = project.test_schema
        assert sorted(_rows(project, f"select * from {schema}.days")) == [
            ("day_1", "table", 1),
            ("day_2", "view", 2),
        ]
        assert sorted(_rows(project, f"select * from {schema}.listed")) == [
            (schema, "day_1", "table"),
            (schema, "day_2", "view"),
            (schema, "days", "table"),
        ]
