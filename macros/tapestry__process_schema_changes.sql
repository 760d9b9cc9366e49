{#- Before an incremental model's rows are written: its table gets the columns that the query has now, as far
    as on_schema_change says, or the run stops; then a contract's constraints that the table lacks. #}
{% macro tapestry__process_schema_changes(on_schema_change, source_relation, target_relation) %}
  {%- for altered in adapter.changed_columns(on_schema_change, model, source_relation, target_relation) -%}
    {%- do run_query(altered) -%}
  {%- endfor -%}
  {%- do persist_constraints(target_relation, model) -%}
{% endmacro %}
