"""`tapestry watch` as a process: an action runs when its batch is released, not at its tick."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.dbt_runs import test_watch
from tests.dbt_runs.test_watch import Watch, project_of, sql

pytestmark = [pytest.mark.more, pytest.mark.own_jvm]
EVERY, AFTER = 3.0, 6.0
FILES = {
    "dbt_project.yml": test_watch.FILES["dbt_project.yml"],
    "profiles.yml": test_watch.FILES["profiles.yml"],
    "models/sources.yml": """
version: 2
sources:
  - name: watched
    tables: [{name: t}, {name: log}]
""",
    "models/fires.sql": "{{ config(materialized='rule', when='inserted', every='3s',"
    " after='6 seconds') }}{{ triggered_by(source('watched', 't')) }} select id from inserted",
    "models/acts.sql": "{{ config(materialized='action', unique=true, every='1 hour') }}"
    "{{ triggered_by(ref('fires')) }}"
    " insert into {{ source('watched', 'log') }} select id, current_timestamp() from matches",
}
CREATE = (
    "create schema if not exists watched;"
    " create table if not exists watched.t (id int) using delta"
    " tblproperties ('delta.enableChangeDataFeed' = true);"
    " create table if not exists watched.log (id int, at timestamp) using delta"
)
WAITED = (
    "select l.id, cast(l.at as double) - cast(c.t as double) from watched.log l join (select id,"
    " _commit_timestamp t from table_changes('watched.t', 0)) c on l.id = c.id order by 1"
)
"""The ids, and how many seconds after its commit each was acted upon."""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return project_of(tmp_path_factory.mktemp("acted") / "project", FILES)


def test_an_action_runs_when_its_batch_is_released(root: Path) -> None:
    watch = Watch(root)
    try:
        watch.wait_for(lambda line: line["model"] == "acts")
        sql(root, CREATE)
        watch.wait_for(lambda line: line["model"] == "fires" and line["status"] == "ok")
        for number in (1, 2):
            seen = len(watch.lines)
            sql(root, f"insert into watched.t values ({number})")
            watch.wait_for(lambda line: line["model"] == "acts" and line["rows"] > 0, seen)
        found = [line.split() for line in sql(root, WAITED)]
    finally:
        watch.end()
    assert [int(row[0]) for row in found] == [1, 2]
    for _, waited in found:
        print(f"acted {waited} s after the commit")
        assert AFTER <= float(waited) < AFTER + EVERY + 60, "every + after + runs, not an hour"
