{#- dbt's, for a contract; names as they can stand in SQL. #}
{% macro tapestry__get_empty_schema_sql(columns) %}
  {%- set quoted = {} -%}
  {%- for key, column in columns.items() -%}
    {%- do quoted.update({key: dict(column, name=adapter.name_sql(column['name']), quote=false)}) -%}
  {%- endfor -%}
  {{ default__get_empty_schema_sql(quoted) }}
{% endmacro %}
