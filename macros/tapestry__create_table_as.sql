{#- A table's rows, or the batch of an incremental model: those that its expectations let through. #}
{% macro tapestry__create_table_as(temporary, relation, compiled_code, language='sql') -%}
  {%- if config.get('contract').enforced and language == 'sql' -%}
    {%- if temporary -%}
      {#- dbt-spark asks for the contract when it makes the table, and never again. -#}
      {%- do get_assert_columns_equivalent(compiled_code) -%}
    {%- else -%}
      {%- do adapter.check_new_table(model, compiled_code) -%}
    {%- endif -%}
  {%- endif -%}
  {%- if adapter.has_expectations(model) -%}
    {%- set compiled_code = adapter.staged_query(model, compiled_code, temporary, language) -%}
  {%- endif -%}
  {{ spark__create_table_as(temporary, relation, compiled_code, language) }}
{%- endmacro %}
