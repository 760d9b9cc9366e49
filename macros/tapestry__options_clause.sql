{#- dbt-spark's; an option's name and value are text, whatever they hold. #}
{% macro tapestry__options_clause() -%}
  {%- set options = config.get('options') -%}
  {%- if config.get('file_format') == 'hudi' -%}
    {{ return(spark__options_clause()) }}
  {%- endif -%}
  {%- if options is not none %}
    options ({{ adapter.properties(options) }})
  {%- endif -%}
{%- endmacro %}
