{#- `dbt show`: with tapestry_as_of the answer at that instant, else the query as it stands. #}
{% macro tapestry__get_limit_sql(sql, limit) %}
  {%- if model is defined and graph is defined -%}
    {%- set sql = adapter.answer_as_of(model, graph, sql, var('tapestry_as_of', none)) -%}
  {%- endif -%}
  {{ default__get_limit_sql(sql, limit) }}
{% endmacro %}
