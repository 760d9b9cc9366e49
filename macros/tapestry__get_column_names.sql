{#- dbt's, for a contract; names as they can stand in SQL. #}
{% macro tapestry__get_column_names() %}
  {%- set listed = [] -%}
  {%- for column in model['columns'].values() -%}
    {%- do listed.append(adapter.name_sql(column['name'])) -%}
  {%- endfor -%}
  {{ listed | join(', ') }}
{% endmacro %}
