{#- dbt-spark's; a property's name and value are text, whatever they hold. #}
{% macro tapestry__tblproperties_clause() -%}
  {%- set named = config.get('tblproperties') -%}
  {%- if named is not none %}
    tblproperties ({{ adapter.properties(named) }})
  {%- endif -%}
{%- endmacro %}
