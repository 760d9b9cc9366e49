{#- now() in a unit test follows tapestry_as_of, its own (overrides: vars) before everybody's. -#}
{% macro tapestry__get_unit_test_sql(main_sql, expected_fixture_sql, expected_column_names) -%}
  {%- set overrides = model.get('overrides') or {} -%}
  {%- set own = (overrides.get('vars') or {}).get('tapestry_as_of') -%}
  {%- set as_of = adapter.clock_as_of(main_sql, own or var('tapestry_as_of', none)) -%}
  {{ dbt.default__get_unit_test_sql(as_of, expected_fixture_sql, expected_column_names) }}
{%- endmacro %}
