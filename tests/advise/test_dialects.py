"""Projects of other warehouses are translated first."""

from __future__ import annotations

from pathlib import Path

from tests.advise.made import made, model, of

from tapestry.advise.records import CONTINUOUS, UNREAD


def test_snowflake(tmp_path: Path) -> None:
    said = model(
        tmp_path,
        """{{ config(materialized='incremental', unique_key='event_id') }}
        with events as (select * from {{ source('app', 'events') }})
        select "EVENT_ID", payload:user:id::string as user_id, received_at::date as day
        from events
        where payload:kind::string ilike 'click%'
        {% if is_incremental() %}
        and received_at >= dateadd('day', -3, (select max(received_at) from {{ this }}))
        {% endif %}""",
        "snowflake",
    )
    assert said.kind == CONTINUOUS
    assert [(one.relation, one.column) for one in said.arrivals] == [("app.events", "received_at")]


def test_a_window_in_snowflake_s_qualify_is_a_condition(tmp_path: Path) -> None:
    said = model(
        tmp_path,
        "{{ config(materialized='table') }} select id from s.t"
        " qualify row_number() over (partition by id order by ts desc) = 1",
        "snowflake",
    )
    assert (said.kind, said.code) == (CONTINUOUS, "")


def test_bigquery(tmp_path: Path) -> None:
    said = model(
        tmp_path,
        """{{ config(materialized='incremental', partition_by={'field': 'day'}) }}
        select id, safe_cast(n as int64) as n, {{ dbt.date_trunc('day', 'ts') }} as day
        from `warehouse-1.app.events`
        where ts < timestamp_add(current_timestamp(), interval 1 day)
        {% if is_incremental() %} and ts > _dbt_max_partition {% endif %}""",
        "bigquery",
    )
    assert said.kind == CONTINUOUS
    assert said.notes == ("names of three parts are read without the first: name schema.table",)
    assert [(one.relation, one.column) for one in said.arrivals] == [("app.events", "ts")]


def test_macros_of_dbt_s_own_follow_the_dialect(tmp_path: Path) -> None:
    said = model(
        tmp_path,
        "{{ config(materialized='table') }}"
        "select {{ dbt_utils.generate_surrogate_key(['id', 'n']) }} as key,"
        " cast(n as {{ dbt.type_string() }}) as n from {{ source('s', 't') }}"
        " where ts < {{ dbt.current_timestamp() }}",
        "bigquery",
    )
    assert said.kind == CONTINUOUS


def test_what_is_no_spark_is_told_which_option_helps(tmp_path: Path) -> None:
    found = made(
        tmp_path,
        {"models/m.sql": "{{ config(materialized='table') }} select [1, 2 as c from s.t"},
    )
    assert of(found, "m").code == "unreadable"
    assert any("--dialect" in note for note in found.notes)


def test_what_the_dialect_cannot_read_is_said(tmp_path: Path) -> None:
    said = model(tmp_path, "select from where", "bigquery")
    assert said.kind == UNREAD
    assert said.reason.startswith("it could not be read as bigquery")


def test_not_in_stays_what_it_is(tmp_path: Path) -> None:
    said = model(
        tmp_path,
        "{{ config(materialized='table') }} select id from s.t"
        " where id not in (select id from s.u where n > 1)",
        "snowflake",
    )
    assert (said.kind, said.code) == (CONTINUOUS, "")
