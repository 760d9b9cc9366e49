"""What goes wrong in a run, and what the next one makes of it, through real dbt."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from dbt.tests.util import run_dbt, run_dbt_and_capture, write_file

SCHEMA = """
version: 2
sources:
  - name: bboard
    schema: "{{ target.schema }}"
    tables: [{name: messages, config: {loaded_at_field: ts}}]
models:
  - name: promised
    config: {contract: {enforced: true}}
    constraints:
      - {type: check, name: positive, expression: "id > 0"}
    columns:
      - {name: id, data_type: int}
      - {name: author, data_type: string, constraints: [{type: not_null}]}
"""
MODEL = """
{{{{ config(materialized='continuous'{config}) }}}}
select id, author from {{{{ source('bboard', 'messages') }}}} where {where}
"""
BERLIN = ", pre_hook='set spark.sql.session.timeZone=Europe/Berlin'"
STRICT = ", pre_hook='set spark.sql.ansi.enabled=true'"


@pytest.fixture(scope="class")
def models() -> dict[str, str]:
    return {
        "schema.yml": SCHEMA,
        "promised.sql": MODEL.format(config=", on_query_change='continue'", where="true"),
        "kept.sql": "select 1 as id",
        "elsewhere.sql": MODEL.format(config=", schema='Sub'", where="now() >= ts"),
        "plain.sql": MODEL.format(config="", where="ts < now() - interval 1 day"),
        "strict.sql": MODEL.format(config=STRICT, where="ts < now() - interval 1 day"),
        "hooked.sql": MODEL.format(config=BERLIN, where="ts < now() - interval 1 day"),
    }


@pytest.fixture(scope="class")
def loaded(project: Any) -> Any:
    project.run_sql("create table {schema}.messages (id int, author string, ts timestamp)")
    project.run_sql(
        "insert into {schema}.messages values (1, 'a', timestamp'2026-01-01 00:00:00Z')"
    )
    return project


def _answers(project: Any, name: str) -> list[tuple[Any, ...]]:
    return sorted(project.run_sql(f"select id, author from {name}", fetch="all"), key=repr)


class TestDeadEnds:
    def test_a_contract_is_asked_for_again(self, loaded: Any, as_of: Callable[[str], None]) -> None:
        """The first run cannot keep it; no later one goes on as if there were none."""
        loaded.run_sql("insert into {schema}.messages values (2, null, timestamp'2026-01-02')")
        as_of("2026-01-03")
        run = ["run", "--select", "promised"]
        run_dbt(run, expect_pass=False)
        loaded.run_sql("insert into {schema}.messages values (3, null, timestamp'2026-01-04')")
        as_of("2026-01-05")
        run_dbt(run, expect_pass=False)
        assert (3, None) not in _answers(loaded, "{schema}.promised")
        loaded.run_sql("delete from {schema}.promised where author is null")
        text = MODEL.format(
            config=", on_query_change='continue', on_target_change='accept'",
            where="author is not null or id > 3",
        )
        write_file(text, loaded.project_root, "models", "promised.sql")
        run_dbt(run)
        assert _answers(loaded, "{schema}.promised") == [(1, "a")]
        # A run that Delta refuses is no run: the next one finds what was mended.
        loaded.run_sql("insert into {schema}.messages values (4, null, timestamp'2026-01-06')")
        as_of("2026-01-07")
        for _ in range(2):
            _, output = run_dbt_and_capture(run, expect_pass=False)
            assert "DELTA_VIOLATE_CONSTRAINT" in output
        write_file(text.replace("or id > 3", ""), loaded.project_root, "models", "promised.sql")
        loaded.run_sql("insert into {schema}.messages values (5, 'e', timestamp'2026-01-06')")
        run_dbt(run)
        assert _answers(loaded, "{schema}.promised") == [(1, "a"), (5, "e")]
        # It is looked at where nothing is new, too.
        as_of("2026-01-08")
        wrong = SCHEMA.replace("{name: id, data_type: int}", "{name: id, data_type: string}")
        for schema in (wrong, SCHEMA):
            write_file(schema, loaded.project_root, "models", "schema.yml")
            run_dbt(run, expect_pass=schema is SCHEMA)

    def test_a_view_stays_until_the_query_is_taken(
        self, loaded: Any, as_of: Callable[[str], None]
    ) -> None:
        as_of("2026-01-08")
        run_dbt(["run", "--select", "kept"])
        text = MODEL.format(config="", where="id > 0")
        refused = text.replace("id, author", "rand() as n")
        write_file(refused, loaded.project_root, "models", "kept.sql")
        run_dbt(["run", "--select", "kept"], expect_pass=False)
        assert loaded.run_sql("select * from {schema}.kept", fetch="all") == [(1,)]
        write_file(text, loaded.project_root, "models", "kept.sql")
        for flags in (["--empty"], []):
            run_dbt(["run", "--select", "kept", *flags])
        assert (1, "a") in _answers(loaded, "{schema}.kept")

    def test_a_schema_with_capital_letters(self, loaded: Any, as_of: Callable[[str], None]) -> None:
        for day in ("2026-01-08", "2026-01-09"):
            as_of(day)
            run_dbt(["run", "--select", "elsewhere"])
        assert (1, "a") in _answers(loaded, f"{loaded.test_schema}_sub.elsewhere")

    def test_a_zone_that_a_hook_sets(self, loaded: Any, as_of: Callable[[str], None]) -> None:
        as_of("2026-01-08")
        selected = ["run", "--threads", "1", "--select"]
        for names in (["hooked", "plain"], ["hooked"]):
            _, output = run_dbt_and_capture([*selected, *names], expect_pass=False)
            assert "the session time zone is Europe/Berlin for this model and UTC" in output
        assert (1, "a") in _answers(loaded, "{schema}.plain")
        _, output = run_dbt_and_capture([*selected, "strict"], expect_pass=False)
        assert "spark.sql.ansi.enabled is true for this model" in output


class TestOneZone:
    @pytest.fixture(scope="class")
    def dbt_profile_target(self, dbt_profile_target: dict[str, Any]) -> dict[str, Any]:
        zone = {"spark.sql.session.timeZone": "Europe/Berlin"}
        return {**dbt_profile_target, "server_side_parameters": zone}

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"one.sql": "select 1 as id"}

    def test_an_instant_means_the_same_in_a_run_and_in_show(
        self, project: Any, as_of: Callable[[str], None]
    ) -> None:
        as_of("2026-07-01 12:00:00")
        inline = ["show", "--inline", "select date_format(now(), 'HH:mm XXX') as at"]
        _, output = run_dbt_and_capture(inline)
        assert "12:00 +02:00" in output
