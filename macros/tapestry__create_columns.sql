{#- dbt-spark's, for a snapshot whose query has new columns; names and types as they can stand in SQL. #}
{% macro tapestry__create_columns(relation, columns) %}
  {%- if columns -%}
    {%- set listed = [] -%}
    {%- for column in columns -%}
      {%- do listed.append(column.quoted ~ ' ' ~ column.data_type) -%}
    {%- endfor -%}
    {%- call statement() -%}
      alter table {{ relation }} add columns ({{ listed | join(', ') }})
    {%- endcall -%}
  {%- endif -%}
{% endmacro %}
