{#- dbt-spark's; a description is text, whatever it holds. #}
{% macro tapestry__comment_clause() -%}
  {%- set persisted = config.get('persist_docs', {}) -%}
  {%- if persisted is mapping -%}
    {%- if persisted.get('relation', false) %}
      comment {{ adapter.literal(model.description) }}
    {%- endif -%}
  {%- elif persisted -%}
    {{ exceptions.raise_compiler_error("Invalid value provided for 'persist_docs'. Expected dict but got value: " ~ persisted) }}
  {%- endif -%}
{%- endmacro %}
