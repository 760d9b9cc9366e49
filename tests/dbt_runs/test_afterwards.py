"""What comes after runs: deliveries, `tapestry rewind`, `tapestry adopt`, through real dbt."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from dbt.tests.util import run_dbt, run_dbt_and_capture
from tests.command import tapestry_on
from tests.delivery.servers import Http, http_server

SOURCES = """
version: 2
sources:
  - name: bboard
    schema: "{{ target.schema }}"
    tables: [{name: messages, config: {loaded_at_field: ts}}]
models:
  - name: old
    config:
      deliver:
        - {name: archive, to: file, path: out}
        - {name: copied, to: table, table: old_copy}
        - {name: ops, to: webhook, url_env: OPS_URL, secret_env: OPS_SECRET, attempts: 1}
"""
OLD = """
{{ config(materialized='continuous') }}
select m.id, m.author, m.price from {{ source('bboard', 'messages') }} m
where now() >= m.ts + interval 10 days
"""
LATER = """
{{ config(materialized='continuous') }}
select id, author from {{ ref('old') }} where now() >= _matched_at + interval 1 hour
"""
BY_HAND = """
{{ config(materialized='incremental') }}
select author, cast(id as bigint) as id, current_timestamp() as loaded_at
from {{ source('bboard', 'messages') }}
where ts <= timestamp'2026-01-01' {% if is_incremental() %} or id = 9 {% endif %}
"""
ADOPTED = """
{{ config(materialized='continuous', tblproperties={'owner_team': 'us'}) }}
select id, author from {{ source('bboard', 'messages') }} where now() >= ts
"""


@pytest.fixture(scope="class")
def models() -> dict[str, str]:
    return {"schema.yml": SOURCES, "old.sql": OLD, "later.sql": LATER, "by_hand.sql": BY_HAND}


@pytest.fixture(scope="class")
def loaded(project: Any) -> Any:
    """The project with its source."""
    project.run_sql(
        "create table {schema}.messages"
        " (id int, author string, price decimal(10,2), ts timestamp) using delta"
    )
    project.run_sql(
        "insert into {schema}.messages values (1, 'a', 1.10, timestamp'2026-01-01'),"
        " (2, 'b', null, timestamp'2026-01-02'), (3, 'a', 3.00, timestamp'2026-01-20')"
    )
    return project


@pytest.fixture(scope="class")
def server() -> Iterator[Http]:
    with http_server() as state:
        yield state


@pytest.fixture(autouse=True)
def address(server: Http, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPS_URL", server.url)
    monkeypatch.setenv("OPS_SECRET", "hunter2")


def answers(project: Any, table: str, columns: str = "id") -> list[tuple[Any, ...]]:
    """What stands in a table."""
    rows = project.run_sql(
        f"select {columns}, date_format(_matched_at, 'MM-dd HH') from {{schema}}.{table}",
        fetch="all",
    )
    return sorted(tuple(row) for row in rows)


class TestAfterwards:
    """One life of a project: the tests go on from one another."""

    def test_a_run_delivers(self, loaded: Any, server: Http, as_of: Callable[[str], None]) -> None:
        as_of("2026-01-11")
        run_dbt(["run", "--select", "old", "later"])
        as_of("2026-01-13")
        server.script = [500]
        _, output = run_dbt_and_capture(["run", "--select", "old", "later"])
        assert "old to archive: 1 row delivered" in output
        assert "old to ops: not delivered yet: 127.0.0.1 answered 500" in output
        assert "s3cret-path" not in output
        (path,) = Path(loaded.project_root).glob("out/old-archive-*.jsonl")
        (line,) = path.read_text().splitlines()
        assert json.loads(line) == {
            "id": 2,
            "author": "b",
            "price": None,
            "_matched_at": "2026-01-12T00:00:00.000000Z",
        }
        assert answers(loaded, "old_copy") == [(2, "01-12 00")]

    def test_deliver_catches_up(self, loaded: Any, server: Http) -> None:
        server.script = [500]
        done = tapestry_on(loaded, "deliver", "--json")
        assert done.exit_code == 1
        found = {row["sink"]: row for row in json.loads(done.stdout[done.stdout.index("[\n") :])}
        assert found["ops"]["error"] == "127.0.0.1 answered 500"
        assert found["copied"]["batches"] == 0
        done = tapestry_on(loaded, "deliver", "old", "--sink", "ops")
        assert (done.exit_code, done.output.splitlines()[-1]) == (0, "old to ops: 1 row delivered")
        assert server.ids == [[2]] * 3
        assert tapestry_on(loaded, "deliver", "--sink", "opps").exit_code != 0

    def test_rewind_asks_and_names_the_readers(self, loaded: Any) -> None:
        done = tapestry_on(loaded, "rewind", "old", "--to", "2026-01-11", "--yes")
        assert done.exit_code != 0
        assert "was read by later" in str(done.exception)
        done = tapestry_on(loaded, "rewind", "old", "--to", "2026-01-11", "--downstream")
        assert done.exit_code != 0  # nobody said yes
        assert "old: 1 answer in (2026-01-11 00:00:00, 2026-01-13 00:00:00] will be" in done.output
        assert len(answers(loaded, "old")) == 2

    def test_rewind(self, loaded: Any, as_of: Callable[[str], None], server: Http) -> None:
        command = ("rewind", "old", "--to", "2026-01-11", "--downstream", "--yes")
        done = tapestry_on(loaded, *command)
        assert done.exit_code == 0, done.output
        assert "later: rewound to 2026-01-11 00:00:00; 2 answers" in done.output
        assert (answers(loaded, "old"), answers(loaded, "later")) == ([(1, "01-11 00")], [])
        assert "nothing to forget" in tapestry_on(loaded, *command).output
        loaded.run_sql(
            "insert into {schema}.messages values (4, 'c', 4, timestamp'2026-01-01 12:00')"
        )
        as_of("2026-01-13")
        run_dbt(["run", "--select", "old", "later"])
        assert answers(loaded, "old") == [(1, "01-11 00"), (2, "01-12 00"), (4, "01-11 12")]
        assert [i for i, _ in answers(loaded, "later")] == [1, 2, 4]
        assert [sorted(ids) for ids in server.ids[3:]] == [[2, 4]]
        done = tapestry_on(loaded, "verify", "--full")
        assert done.exit_code == 0, done.output

    def test_adopt(self, loaded: Any, as_of: Callable[[str], None]) -> None:
        run_dbt(["run", "--select", "by_hand"])
        run_dbt(["run", "--select", "by_hand"])  # loads its first row twice, and no later one
        path = Path(loaded.project_root) / "models/by_hand.sql"
        path.write_text(ADOPTED)
        as_of("2026-01-13")
        results = run_dbt(["run", "--select", "by_hand"], expect_pass=False)
        assert "tapestry adopt" in results.results[0].message
        done = tapestry_on(loaded, "adopt", "by_hand", "--dry-run", "--json")
        found = json.loads(done.stdout[done.stdout.index("{\n") : done.stdout.rindex("}") + 1])
        assert done.exit_code == 1
        assert (found["missing"]["rows"], found["extra"]["rows"]) == (2, 1)
        assert found["other_columns"] == ["loaded_at"]
        done = tapestry_on(loaded, "adopt", "by_hand", "--yes")
        assert "1 row that are no answers" in str(done.exception).replace("has ", "")
        done = tapestry_on(loaded, "adopt", "by_hand", "--extra", "drop", "--yes")
        assert done.exit_code == 0, (done.output, done.exception)
        version = int(done.output.strip().rpartition("VERSION AS OF ")[2])
        assert [i for i, _ in answers(loaded, "by_hand")] == [1, 2, 4]
        old = loaded.run_sql(
            f"select id from {{schema}}.by_hand version as of {version}", fetch="all"
        )
        assert [row[0] for row in old] == [1, 1]
        as_of("2026-01-21")
        run_dbt(["run", "--select", "by_hand"])
        assert [i for i, _ in answers(loaded, "by_hand")] == [1, 2, 3, 4]
        done = tapestry_on(loaded, "adopt", "by_hand", "--yes")
        assert "is the table of this continuous model already" in str(done.exception)

    def test_a_misspelt_sink(self, loaded: Any) -> None:
        path = Path(loaded.project_root) / "models/schema.yml"
        path.write_text(SOURCES.replace("to: file", "to: fiel"))
        results = run_dbt(["run", "--select", "old"], expect_pass=False)
        path.write_text(SOURCES)
        assert "did you mean file?" in results.results[0].message
        assert "models/old.sql" in results.results[0].message
