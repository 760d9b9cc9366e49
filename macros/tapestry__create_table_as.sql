{#- A table's rows, or the batch of an incremental model: those that its expectations let through. #}
{% macro tapestry__create_table_as(temporary, relation, compiled_code, language='sql') -%}
  {%- if config.get('contract').enforced and not temporary and language == 'sql' -%}
    {%- do adapter.check_new_table(model, compiled_code) -%}
  {%- endif -%}
  {%- if adapter.has_expectations(model) -%}
    {%- set compiled_code = adapter.staged_query(model, compiled_code, temporary, language) -%}
  {%- endif -%}
  {{ spark__create_table_as(temporary, relation, compiled_code, language) }}
{%- endmacro %}
