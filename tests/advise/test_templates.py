"""Jinja without dbt: what is rendered, what is not known, and what is hostile."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.advise.made import PROJECT, made, model, of

from tapestry.advise.records import CONTINUOUS, UNREAD

TABLE = "{{ config(materialized='table') }} "


def test_macros_of_the_project_call_each_other(tmp_path: Path) -> None:
    files = {
        "models/m.sql": TABLE + "select {{ cents('amount') }} as cents from {{ source('s', 't') }}",
        "macros/a.sql": "{% macro cents(of) %}{{ return(adapter.dispatch('times')(of, 100)) }}"
        "{% endmacro %}",
        "macros/b.sql": "{% macro default__times(a, b) %}{{ a }} * {{ b }}{% endmacro %}"
        "{% test nothing(model) %} select 1 {% endtest %}",
    }
    assert of(made(tmp_path, files), "m").kind == CONTINUOUS


def test_variables_of_the_project_count(tmp_path: Path) -> None:
    files = {
        "dbt_project.yml": PROJECT
        + "vars: {least: 3, shop: {from: \"{{ env_var('D', 'x') }}\"}}\n",
        "models/m.sql": TABLE + "select id from s.t where n > {{ var('least') }} and"
        " a = '{{ var('from') }}' and d > '{{ var('start_date') }}' and b = {{ var('other', 4) }}",
    }
    said = of(made(tmp_path, files), "m")
    assert said.kind == CONTINUOUS
    assert said.notes == ("var('start_date') has no value here: '2020-01-01' stands for it",)


def test_the_environment_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DBT_ENV_SECRET_KEY", "hunter2")
    found = made(
        tmp_path,
        {"models/m.sql": TABLE + "select '{{ env_var('DBT_ENV_SECRET_KEY') }}' as a from s.t"},
    )
    assert "hunter2" not in str(found.as_json())


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("select {{ our_package.hash('a') }} as h from s.t", "our_package.hash"),
        ("select {{ nobody(1) }} as h from s.t", "nobody"),
        ("select {{ column_name }} as h from s.t", "column_name"),
        ("select {{ dbt_utils.pivot('a', ['b']) }} from s.t", "dbt_utils.pivot"),
        ("{% for c in columns %}{{ c }},{% endfor %} select 1", "columns"),
    ],
)
def test_what_is_not_known_is_named(tmp_path: Path, text: str, named: str) -> None:
    said = model(tmp_path, TABLE + text)
    assert said.kind == UNREAD
    assert said.reason.endswith(f"not known here: {named}")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("{% for c in run_query('q').columns %}{{ c }}{% endfor %}", "run_query"),
        ("{% for v in dbt_utils.get_column_values(ref('a'), 'b') %}{{ v }}{% endfor %}", "values"),
        ("select {{ adapter.get_columns_in_relation(this)[0] }}", "get_columns_in_relation"),
    ],
)
def test_what_asks_the_warehouse_is_said(tmp_path: Path, text: str, named: str) -> None:
    said = model(tmp_path, TABLE + text)
    assert said.kind == UNREAD
    assert "depends on what the warehouse answers" in said.reason
    assert named in said.reason


def test_without_an_answer_the_text_of_parsing_is_read(tmp_path: Path) -> None:
    text = "{% if execute %}{% set x = run_query('q').rows %}{% endif %} select id from s.t"
    said = model(tmp_path, TABLE + text)
    assert said.kind == CONTINUOUS
    assert "execute" in said.notes[0]


@pytest.mark.parametrize(
    "text",
    [
        "{% for a in range(99999) %}{% for b in range(99999) %}{% set c = a %}{% endfor %}"
        "{% endfor %}",
        "{% set x = ['aaaaaaaaaa'] %}{% for a in range(60) %}{% set _ = x.append(x[-1] ~ x[-1]) %}"
        "{% endfor %}select '{{ x[-1] }}'",
        "{{ 'a' * 9999999999 }}",
        "{% for a in range(10 ** 12) %}{% endfor %}",
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ ref.__globals__ }}{{ config.__init__.__globals__ }}",
        "{{ adapter._known }}",
        "{{ ''|attr('__class__') }}",
        "{{ modules.datetime.datetime.__subclasses__() }}",
        "{% include '/etc/passwd' %}",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        "{% if %}",
        "{{ modules.re.sub('(a|a)*b', '', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa') }}",
    ],
)
def test_a_hostile_template_costs_its_own_row_only(tmp_path: Path, text: str) -> None:
    files = {"models/bad.sql": text, "models/good.sql": TABLE + "select id from s.t"}
    found = made(tmp_path, files)
    assert of(found, "bad").kind == UNREAD
    assert of(found, "bad").reason
    assert of(found, "good").kind == CONTINUOUS


def test_a_broken_file_of_macros_harms_its_callers_only(tmp_path: Path) -> None:
    files = {
        "macros/bad.sql": "{% macro a() %}{% if %}",
        "models/m.sql": TABLE + "select {{ a() }} as x from s.t",
        "models/good.sql": TABLE + "select id from s.t",
    }
    found = made(tmp_path, files)
    assert of(found, "m").reason.endswith("not known here: a")
    assert of(found, "good").kind == CONTINUOUS
