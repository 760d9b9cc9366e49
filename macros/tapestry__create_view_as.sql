{#- A view is made when its rows are what is expected of them. #}
{% macro tapestry__create_view_as(relation, sql) -%}
  {%- if adapter.has_expectations(model) -%}
    {%- do adapter.check_view(model, sql) -%}
  {%- endif -%}
  {{ spark__create_view_as(relation, sql) }}
{%- endmacro %}
