{#- now() in a unit test follows tapestry_as_of, its own (overrides: vars) before everybody's. -#}
{% macro tapestry__get_unit_test_sql(main_sql, expected_fixture_sql, expected_column_names) -%}
  {%- set overrides = model.get('overrides') or {} -%}
  {%- set own = (overrides.get('vars') or {}).get('tapestry_as_of') -%}
  {%- set asked = adapter.unit_test_query(main_sql, model, own or var('tapestry_as_of', none)) -%}
  {%- if asked.warning -%}
    {%- do exceptions.warn(model.name ~ ': ' ~ asked.warning) -%}
  {%- endif -%}
  {{ dbt.default__get_unit_test_sql(asked.sql, expected_fixture_sql, expected_column_names) }}
{%- endmacro %}
