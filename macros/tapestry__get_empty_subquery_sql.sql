{#- dbt's, which asks for the columns of a query; in a unit test of a rule of the rows that it binds. #}
{% macro tapestry__get_empty_subquery_sql(select_sql, select_sql_header=none) %}
  {%- if model is defined and model.get('resource_type') == 'unit_test' -%}
    {%- set select_sql = adapter.tested_rule(select_sql, model) -%}
  {%- endif -%}
  {{ return(default__get_empty_subquery_sql(select_sql, select_sql_header)) }}
{% endmacro %}
