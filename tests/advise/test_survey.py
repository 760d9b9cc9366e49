"""`tapestry advise` over small projects: what fits, what is refused, what would change."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.advise.made import PROJECT, made, model, of

from tapestry.advise.records import CONTINUOUS, REBUILT, UNREAD

GUARDED = """
{{ config(materialized='incremental', unique_key='id') }}
select id, amount, loaded from {{ source('shop', 'orders') }}
{% if is_incremental() %} where loaded > (select max(loaded) from {{ this }}) {% endif %}
"""


def test_an_incremental_model_that_fits(tmp_path: Path) -> None:
    said = model(tmp_path, GUARDED)
    assert (said.today, said.kind, said.code) == ("incremental", CONTINUOUS, "")
    assert said.changes == (
        "materialized='continuous' instead of 'incremental'",
        "take out the {% if is_incremental() %} block",
        "take out unique_key (id)",
    )
    ((relation, column),) = [(one.relation, one.column) for one in said.arrivals]
    assert (relation, column) == ("shop.orders", "loaded")
    assert "is_incremental() compares it" in said.arrivals[0].why
    assert "only if id is there so that rows are not taken twice" in said.conditions[0]


def test_a_total_that_goes_on_changing_is_told(tmp_path: Path) -> None:
    total = "select customer, sum(amount) as total from {{ ref('orders') }} group by customer"
    said = model(tmp_path, "{{ config(materialized='table') }}" + total)
    assert said.kind == CONTINUOUS
    assert any("every value that total ever had" in one for one in said.conditions)
    over = " having sum(cast(amount as decimal(9, 2))) > 5"
    said = model(tmp_path, "{{ config(materialized='table') }}" + total.replace(
        ", sum(amount) as total", "") + over)  # fmt: skip
    assert not any("ever had" in one for one in said.conditions)


def test_a_refusal_keeps_the_rewriter_s_words(tmp_path: Path) -> None:
    said = model(
        tmp_path,
        "{{ config(materialized='table') }}select mode(amount) as total from {{ ref('orders') }}",
    )
    assert (said.kind, said.code) == (REBUILT, "no-order")
    assert said.hint.startswith("rank the values by count(*)")
    assert "MODE(" in said.where


@pytest.mark.parametrize("kind", ["view", "ephemeral"])
def test_what_stores_no_rows_stays(tmp_path: Path, kind: str) -> None:
    said = model(tmp_path, f"{{{{ config(materialized='{kind}') }}}} select 1 as a from s.t")
    assert (said.kind, said.code, said.judged) == (kind, "", False)


def test_a_view_is_opened_and_names_its_columns(tmp_path: Path) -> None:
    files = {
        "models/staged.sql": "select * from {{ source('shop', 'orders') }}",
        "models/big.sql": "{{ config(materialized='table') }}"
        "select id, placed_at from {{ ref('staged') }} where amount > 10",
        "models/sums.sql": "select customer, mode(amount) as total from {{ ref('staged') }}"
        " group by 1",
        "models/over.sql": "{{ config(materialized='table') }} select * from {{ ref('sums') }}",
    }
    found = made(tmp_path, files)
    assert of(found, "big").kind == CONTINUOUS
    assert of(found, "over").code == "no-order"
    assert set(found.columns["shop.orders"]) == {"id", "placed_at", "amount", "customer"}
    assert found.columns["shop.orders"]["amount"] == "decimal(38,6)"
    assert found.columns["shop.orders"]["placed_at"] == "timestamp"


def test_the_yaml_has_the_say(tmp_path: Path) -> None:
    sources = """
sources:
  - name: shop
    tables:
      - name: orders
        config: {loaded_at_field: put_in}
        columns: [{name: id, data_type: bigint}, {name: put_in, data_type: timestamp}]
      - name: countries
        config: {meta: {arrival: static}}
models:
  - name: m
    config: {materialized: table}
"""
    text = (
        "select o.* from {{ source('shop', 'orders') }} o"
        " join {{ source('shop', 'countries') }} c on c.code = o.country"
    )
    found = made(tmp_path, {"models/m.sql": text, "models/s.yml": sources})
    said = of(found, "m")
    assert (said.today, said.kind) == ("table", CONTINUOUS)
    assert {one.relation: one.column for one in said.arrivals} == {
        "shop.orders": "put_in",
        "shop.countries": "static",
    }
    assert found.columns["shop.orders"] == {
        "id": "bigint",
        "put_in": "timestamp",
        "country": "string",
    }


def test_folders_configure_their_models(tmp_path: Path) -> None:
    project = (
        "name: shop\nmodel-paths: [models, more/models]\n"
        "models:\n  shop:\n    +materialized: table\n    raw: {materialized: view}\n"
    )
    files = {
        "dbt_project.yml": project,
        "models/raw/a.sql": "select id from s.t",
        "models/b.sql": "select id from s.t",
        "more/models/raw/c.sql": "select id from s.t",
    }
    found = made(tmp_path, files)
    assert [of(found, name).today for name in "abc"] == ["view", "table", "view"]


def test_a_chain_of_continuous_models(tmp_path: Path) -> None:
    files = {
        "models/a.sql": "{{ config(materialized='incremental') }} select id, ts from s.t",
        "models/b.sql": "{{ config(materialized='incremental') }} select * from {{ ref('a') }}",
    }
    found = made(tmp_path, files)
    said = of(found, "b")
    assert said.kind == CONTINUOUS
    assert any("leave out _matched_at of ref.a" in one for one in said.changes)


def test_a_table_that_is_built_anew_is_a_condition(tmp_path: Path) -> None:
    files = {
        "models/a.sql": "{{ config(materialized='table') }}"
        "select id, mode(n) as n from s.t group by id",
        "models/b.sql": "{{ config(materialized='incremental') }}"
        "select id from {{ ref('a') }} where n > 3",
    }
    (condition,) = of(made(tmp_path, files), "b").conditions
    assert condition.startswith("ref.a is built anew by each run")


def test_the_clock_as_an_audit_column_does_not_stand_in_the_way(tmp_path: Path) -> None:
    said = model(
        tmp_path,
        "{{ config(materialized='incremental') }}"
        "select id, current_timestamp() as loaded_by_us from s.t",
    )
    assert said.kind == CONTINUOUS


def test_functions_of_somebody_s_own_are_a_condition(tmp_path: Path) -> None:
    said = model(
        tmp_path,
        "{{ config(materialized='table') }} select our_hash(id) as h, our_fix(n) as n from s.t",
    )
    assert said.kind == CONTINUOUS
    assert "deterministic_functions: [our_hash, our_fix]" in said.changes


def test_a_column_is_of_the_table_that_others_ask_for_it(tmp_path: Path) -> None:
    files = {
        "models/a.sql": "{{ config(materialized='table') }} select x.name from s.x",
        "models/m.sql": "{{ config(materialized='table') }}"
        "select name, amount from s.x join s.y on x.id = y.id",
    }
    found = made(tmp_path, files)
    assert of(found, "m").kind == CONTINUOUS
    assert "name" not in found.columns["s.y"]


def test_fields_of_structs_are_no_tables(tmp_path: Path) -> None:
    said = made(
        tmp_path,
        {
            "models/m.sql": "{{ config(materialized='table') }}"
            "select payload.user.id as user_id, t.payload.sent_at from s.t"
        },
    )
    assert of(said, "m").kind == CONTINUOUS
    assert said.columns["s.t"]["payload"] == ("struct<sent_at:timestamp,user:struct<id:string>>")


def test_a_column_that_cannot_be_told_is_no_verdict(tmp_path: Path) -> None:
    said = model(
        tmp_path,
        "{{ config(materialized='table') }} with q as (select id from s.t) select q.nothing from q",
    )
    assert (said.kind, said.code) == (UNREAD, "unknown-column")


def test_circles_are_named(tmp_path: Path) -> None:
    files = {
        "models/a.sql": "select * from {{ ref('b') }}",
        "models/b.sql": "select * from {{ ref('a') }}",
        "models/c.sql": "{{ config(materialized='table') }} select id from {{ ref('a') }}",
    }
    found = made(tmp_path, files)
    assert "reads itself" in of(found, "a").reason
    assert "reads itself" in of(found, "b").reason
    assert of(found, "c").kind == CONTINUOUS


def test_a_folder_of_queries(tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_text(
        "create view v as select id from t; select stddev(n) as d from t"
    )
    (tmp_path / "b.sql").write_text("drop table t")
    from tapestry.advise.survey import survey

    found = survey(tmp_path)
    assert [(one.name, one.kind) for one in found.models] == [
        ("a.sql#1", CONTINUOUS),
        ("a.sql#2", REBUILT),
    ]
    assert found.project == ""


def test_a_name_in_group_by_is_the_select_list_s(tmp_path: Path) -> None:
    """``day`` is no column of the orders: else that would be grouped by."""
    said = model(
        tmp_path,
        "{{ config(materialized='incremental') }}"
        "select date_trunc('day', placed_at) as day, sum(amount) as total"
        " from {{ source('shop', 'orders') }} group by day having day > '2026-01-01'",
    )
    assert said.kind == CONTINUOUS
    assert said.conditions[-1].startswith("only if amount is a DECIMAL or a whole number")


@pytest.mark.parametrize(
    ("models", "today"),
    [
        ("+materialized: table", "table"),
        ("shop: {+materialized: table}", "table"),
        ("+materialized: incremental, shop: {marts: {+materialized: table}}", "table"),
        ("+materialized: table, shop: {+materialized: view}", "view"),
        ("other: {+materialized: table}", "view"),
    ],
)
def test_what_the_project_file_says_of_folders(tmp_path: Path, models: str, today: str) -> None:
    files = {
        "dbt_project.yml": f"{PROJECT}models: {{{models}}}\n",
        "models/marts/m.sql": "select id, ts from {{ source('raw', 'orders') }}",
    }
    assert of(made(tmp_path, files), "m").today == today
