{#- dbt's; a column's name stands for the column, whatever it holds. #}
{% macro tapestry__test_relationships(model, column_name, to, field) %}
  {%- set column = adapter.columns_sql(column_name, 'select * from ' ~ model)[0] -%}
  {%- set theirs = adapter.columns_sql(field, 'select * from ' ~ to)[0] -%}
  {{ return(default__test_relationships(model, column, to, theirs)) }}
{% endmacro %}
