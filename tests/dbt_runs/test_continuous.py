"""Continuous models through real `dbt` invocations in this process."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from dbt.tests.util import get_connection, run_dbt, run_dbt_and_capture

from dbt.adapters.tapestry.session import DbtSession

pytestmark = pytest.mark.gate

SOURCES = """
version: 2
sources:
  - name: bboard
    schema: "{{ target.schema }}"
    tables: [{name: messages, config: {loaded_at_field: ts}}]
seeds:
  - name: people
    config: {meta: {arrival: static}}
models:
  - name: old
    description: Messages ten days old
    config:
      contract: {enforced: true}
      persist_docs: {relation: true, columns: true}
      tblproperties: {owner_team: us}
    columns:
      - {name: id, data_type: int, description: the message, tests: [unique]}
      - {name: name, data_type: string}
"""
OLD = """
{{ config(materialized='continuous') }}
select m.id, p.name from {{ ref('recent') }} m join {{ ref('people') }} p on p.author = m.author
where now() >= m.ts + interval 10 days
"""
RECENT = "select id, author, ts from {{ source('bboard', 'messages') }}"
EPHEMERAL = "{{ config(materialized='ephemeral') }} select id, name from {{ ref('old') }}"
NAMED = """
{{ config(materialized='continuous',
          post_hook='alter table {{ this }} set tblproperties (x = 1)') }}
select id, name from {{ ref('as_it_is') }} where name = 'Anna'
{% if is_incremental() %} and false {% endif %}
"""
PEOPLE = "author,name\na,Anna\nb,Bert\n"


@pytest.fixture(scope="class")
def models() -> dict[str, str]:
    return {
        "schema.yml": SOURCES,
        "old.sql": OLD,
        "recent.sql": "{{ config(materialized='view') }} " + RECENT,
        "as_it_is.sql": EPHEMERAL,
        "named.sql": NAMED,
    }


@pytest.fixture(scope="class")
def seeds() -> dict[str, str]:
    return {"people.csv": PEOPLE}


@pytest.fixture(scope="class")
def loaded(project: Any) -> Any:
    """The project with its source and its seed."""
    project.run_sql(
        "create table {schema}.messages (id int, author string, ts timestamp) using delta"
    )
    project.run_sql(
        "insert into {schema}.messages values (1, 'a', timestamp'2026-01-01'),"
        " (2, 'b', timestamp'2026-01-02'), (3, 'a', timestamp'2026-01-20')"
    )
    run_dbt(["seed"])
    return project


def answers(project: Any, table: str) -> list[tuple[Any, ...]]:
    """What stands in a target."""
    rows = project.run_sql(
        f"select id, name, date_format(_matched_at, 'MM-dd') from {project.test_schema}.{table}",
        fetch="all",
    )
    return sorted(tuple(row) for row in rows)


class TestContinuous:
    """One life of a project: the tests go on from one another."""

    def test_two_runs_and_one_with_nothing_new(
        self, loaded: Any, as_of: Callable[[str], None]
    ) -> None:
        as_of("2026-01-11")
        _, output = run_dbt_and_capture(["run"])
        assert "is_incremental() is not needed" in output
        assert answers(loaded, "old") == [(1, "Anna", "01-11")]
        as_of("2026-01-13T00:00:00Z")
        results = run_dbt(["build", "--select", "old+"])
        assert answers(loaded, "old") == [(1, "Anna", "01-11"), (2, "Bert", "01-12")]
        assert answers(loaded, "named") == [(1, "Anna", "01-11")]
        messages = {r.node.name: r.message for r in results}
        assert messages["old"] == "1 row in (2026-01-11 00:00:00, 2026-01-13 00:00:00]"
        results = run_dbt(["run", "--select", "old+"])
        assert {r.message for r in results} == {"nothing new"}

    def test_a_session_does_two_things_at_once(self, loaded: Any) -> None:
        """Each gets its own rows, as the claim of a run and its checks do."""
        with get_connection(loaded.adapter):
            session = DbtSession(loaded.adapter)
            for n in range(30):
                beside = session.can.meanwhile(partial(session.rows, f"select {n}, 'beside'"))
                assert session.rows(f"select 'here', {n}, {n}") == [("here", n, n)]
                assert beside.result() == [(n, "beside")]

    def test_what_was_run_is_written_beside_the_compiled_sql(self, loaded: Any) -> None:
        (written,) = Path(loaded.project_root).glob("target/run/**/old.sql")
        assert "INSERT INTO" in written.read_text()
        (guarded,) = Path(loaded.project_root).glob("target/compiled/**/old.incremental.sql")
        text = guarded.read_text()
        assert "{% if is_incremental() and tau is not none %}" in text
        assert "FROM {{ source('bboard', 'messages') }}" in text
        assert "FROM {{ ref('people') }}" in text
        assert "messages.ts > CAST('{{ tau }}' AS TIMESTAMP) - INTERVAL '240' HOUR" in text
        first = text.split("{% else %}")[1]
        assert "tau" not in first

    def test_the_log_of_runs(self, loaded: Any) -> None:
        rows = loaded.run_sql("select model, n, new_rows from {schema}.tapestry_runs", fetch="all")
        assert (f"{loaded.test_schema}.old", 2, 1) in [tuple(row) for row in rows]

    def test_docs_and_properties_stand_in_the_table(self, loaded: Any) -> None:
        described = {
            row[0]: (row[1], row[2])
            for row in loaded.run_sql("describe table extended {schema}.old", fetch="all")
        }
        assert described["id"] == ("int", "the message")
        assert described["Comment"][0] == "Messages ten days old"
        assert "owner_team=us" in described["Table Properties"][0]
        assert described["_matched_at"][0] == "timestamp"

    def test_show_answers_as_of(self, loaded: Any, as_of: Callable[[str], None]) -> None:
        as_of("2026-01-11")
        results = run_dbt(["show", "--select", "old"])
        assert [tuple(row) for row in results.results[0].agate_table.rows] == [(1, "Anna")]

    @pytest.mark.parametrize("limit", [["--empty"], ["--sample", "1 day"]])
    def test_limited_inputs_change_no_state(
        self, loaded: Any, as_of: Callable[[str], None], limit: list[str]
    ) -> None:
        as_of("2026-03-01")
        (result,) = run_dbt(["run", "--select", "old", *limit]).results
        assert result.message == f"nothing written: {limit[0]} limits what it reads"
        assert len(answers(loaded, "old")) == 2

    def test_a_given_instant_in_the_past(self, loaded: Any, as_of: Callable[[str], None]) -> None:
        as_of("2026-01-05")
        results = run_dbt(["run", "--select", "old"], expect_pass=False)
        message = results.results[0].message
        assert "Runtime Error in model old (models/old.sql)" in message
        assert "the window asked for ends at 2026-01-05" in message
        assert "Traceback" not in message
        run_dbt(
            ["run", "--select", "old", "--full-refresh", "--vars", "{tapestry_as_of: '2026-01-11'}"]
        )
        assert answers(loaded, "old") == [(1, "Anna", "01-11")]

    @pytest.mark.parametrize(
        ("text", "told"),
        [
            ("late_row='warn'", "did you mean late_rows"),
            ("late_rows='worn'", "did you mean warn"),
            ("expectations=[1]", "is not an expectation"),
        ],
    )
    def test_misspelt_configuration(self, loaded: Any, text: str, told: str) -> None:
        path = Path(loaded.project_root) / "models/old.sql"
        path.write_text(
            OLD.replace("materialized='continuous'", f"materialized='continuous', {text}")
        )
        results = run_dbt(["run", "--select", "old"], expect_pass=False)
        path.write_text(OLD)
        assert told in results.results[0].message
        assert "models/old.sql" in results.results[0].message

    def test_no_instant(self, loaded: Any, as_of: Callable[[str], None]) -> None:
        as_of("yesterday")
        results = run_dbt(["run", "--select", "old"], expect_pass=False)
        assert "TAPESTRY_AS_OF: 'yesterday' is not an instant" in results.results[0].message
