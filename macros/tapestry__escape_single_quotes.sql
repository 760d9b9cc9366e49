{#- What stands between the quotes of a literal: dbt-spark's escapes quotes, but neither backslashes
    nor ${…}, in which Spark puts environment variables. #}
{% macro tapestry__escape_single_quotes(expression) -%}
{{ return(adapter.escaped(expression)) }}
{%- endmacro %}
