{#- `dbt show`: with tapestry_as_of the answer at that instant, else the query as it stands. #}
{% macro tapestry__get_limit_sql(sql, limit) %}
  {%- if model is defined and graph is defined -%}
    {%- set asked = adapter.answer_as_of(model, graph, sql, var('tapestry_as_of', none)) -%}
    {%- if asked.warning -%}
      {%- do exceptions.warn(model.name ~ ': ' ~ asked.warning) -%}
    {%- endif -%}
    {%- set sql = asked.sql -%}
  {%- endif -%}
  {{ default__get_limit_sql(sql, limit) }}
{% endmacro %}
