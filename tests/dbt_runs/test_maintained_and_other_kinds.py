"""One name that is a maintained model's and another's, by turns; a table that is adopted."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dbt.tests.util import run_dbt
from tests.command import tapestry_on
from tests.dbt_runs.test_maintained_by_dbt import rows

pytestmark = pytest.mark.more

SOURCE = """
version: 2
sources:
  - name: shop
    schema: "{{ target.schema }}"
    tables: [{name: orders}]
"""
COUNTS = "select customer, count(*) as n from {{ source('shop', 'orders') }} group by customer"
MODEL = "{{ config(materialized='%s') }}\n" + COUNTS
FIRST = [("a", 2), ("b", 1)]


@pytest.fixture(scope="class")
def models() -> dict[str, str]:
    return {"schema.yml": SOURCE, "counts.sql": MODEL % "table"}


def become(project: Any, kind: str) -> None:
    Path(project.project_root, "models/counts.sql").write_text(MODEL % kind)


def message(results: Any) -> str:
    (result,) = results
    return str(result.message)


class TestOtherKinds:
    def test_by_turns(self, project: Any, as_of: Callable[[str], None]) -> None:
        run = project.run_sql
        run("create table {schema}.orders (id int, customer string) using delta")
        run("insert into {schema}.orders values (1, 'a'), (2, 'a'), (3, 'b')")
        as_of("2026-01-11")
        for kind in ("table", "maintained", "table", "maintained", "view", "maintained"):
            become(project, kind)
            results = run_dbt(["run"])
            assert rows(project, "counts") == FIRST
        assert "FIRST_RUN" in message(results)
        become(project, "incremental")
        assert "was made by a model that was maintained" in message(
            run_dbt(["run"], expect_pass=False)
        )
        assert rows(project, "counts") == FIRST
        run_dbt(["run", "--full-refresh"])
        become(project, "maintained")
        refused = message(run_dbt(["run"], expect_pass=False))
        assert "tapestry adopt" in refused
        run("insert into {schema}.counts values ('z', 9)")
        told = tapestry_on(project, "adopt", "counts", "--dry-run", "--json")
        found = json.loads(told.output)
        assert (found["rows"], found["answers"], found["extra"]["rows"]) == (3, 2, 1)
        adopted = tapestry_on(project, "adopt", "counts", "--yes")
        assert "counts: adopted. As it was: SELECT * FROM" in adopted.output
        assert rows(project, "counts") == FIRST
        as_of("2026-01-12")
        run("insert into {schema}.orders values (4, 'b'), (5, 'c')")
        assert "1 inserted, 1 updated, 0 deleted" in message(run_dbt(["run"]))
        back = tapestry_on(
            project, "rewind", "counts", "--to", "2026-01-11 12:00:00", "--yes", "--json"
        )
        (found,) = json.loads(back.output)
        assert (found["inserted"], found["updated"], found["deleted"]) == (0, 1, 1)
        assert rows(project, "counts") == FIRST
        as_of("2026-01-13")
        assert "1 inserted, 1 updated, 0 deleted" in message(run_dbt(["run"]))
        logged = run(
            "select count(*) from {schema}.tapestry_runs where reason = 'ASKED'", fetch="one"
        )
        assert logged[0] == 2
