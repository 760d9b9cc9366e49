{#- dbt-spark's; a property's name and value are text, whatever they hold. A table says that dbt builds it anew. #}
{% macro tapestry__tblproperties_clause() -%}
  {%- set named = dict(config.get('tblproperties') or {}) -%}
  {%- if model.config.materialized == 'table' and config.get('file_format') == 'delta' -%}
    {%- do named.update({'tapestry.kind': 'table'}) -%}
  {%- endif -%}
  {%- if named %}
    tblproperties ({{ adapter.properties(named) }})
  {%- endif -%}
{%- endmacro %}
