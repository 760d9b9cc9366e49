"""What this adapter adds to dbt-spark, on one small project."""

from __future__ import annotations

import datetime as dt
import os
import time
from collections.abc import Iterator
from typing import Any

import pytest
from dbt.tests.util import get_connection, run_dbt, run_dbt_and_capture

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
                "select raise_error('boom ' || name) as x from {{ ref('people') }}"
            ),
            "python_broken.py": PYTHON_BROKEN,
        }

    @pytest.fixture
    def session(self, project: Any) -> Iterator[DbtSession]:
        with get_connection(project.adapter):
            yield DbtSession(project.adapter)

    def test_a_seed_is_rewritten_in_one_commit_of_one_history(
        self, project: Any, session: DbtSession
    ) -> None:
        table = f"{project.test_schema}.people"
        histories = []
        for _ in range(2):
            assert len(run_dbt(["seed"])) == 1
            ((identity,),) = session.rows(f"select id from (describe detail {table})")
            versions = session.rows(f"select version from (describe history {table})")
            histories.append((identity, len(versions)))
        assert histories == [(histories[0][0], 1), (histories[0][0], 2)]

    def test_seed_values_arrive_as_they_are(
        self, project: Any, session: DbtSession, elsewhere: None
    ) -> None:
        run_dbt(["seed"])
        rows = session.rows(f"select id, name, at from {project.test_schema}.people order by id")
        utc = dt.timezone.utc
        assert rows == [
            (1, "it's", dt.datetime(2020, 1, 1, tzinfo=utc)),
            (2, None, dt.datetime(2020, 3, 29, 2, 30, tzinfo=utc)),
            (3, "back\\slash %s", None),
            (9007199254740993, "two\nlines", dt.datetime(2020, 1, 2, tzinfo=utc)),
        ]

    def test_a_table_is_replaced_in_place_as_delta(self, project: Any, session: DbtSession) -> None:
        table = f"{project.test_schema}.copied"
        identities = set()
        for _ in range(2):
            run_dbt(["build", "--select", "people", "copied"])
            identities |= set(session.rows(f"select id, format from (describe detail {table})"))
        ((_, file_format),) = identities
        assert file_format == "delta"

    def test_rows_are_python_values(self, session: DbtSession) -> None:
        session.run("create or replace temporary view v as select 1 as a")
        ((*values, instant),) = session.rows(
            "select a, 'x', null, date'2020-02-29', true, timestamp'2020-10-25 02:30:00.000001Z'"
            " from v"
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
        _, output = run_dbt_and_capture(
            ["show", "--inline", "select raise_error('boom')"], expect_pass=False
        )
        assert "boom" in output
        assert "Traceback" not in output
