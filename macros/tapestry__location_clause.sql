{#- dbt-spark's; a location is text, whatever it holds. #}
{% macro tapestry__location_clause() -%}
  {%- set root = config.get('location_root') -%}
  {%- if root is not none %}
    location {{ adapter.literal(root ~ '/' ~ model['alias']) }}
  {%- endif -%}
{%- endmacro %}
