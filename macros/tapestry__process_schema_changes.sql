{#- Before an incremental model's rows are written: its table gets the columns that the query has now, as far
    as on_schema_change says, or the run stops; then a contract's constraints that the table lacks. The rows of a
    query whose types may cut values are asked first where the table is to be altered, and as they are written. #}
{% macro tapestry__process_schema_changes(on_schema_change, source_relation, target_relation) %}
  {%- set changed = adapter.changed_columns(
        on_schema_change, model, compiled_code, source_relation, target_relation
      ) -%}
  {%- if changed.fitting -%}
    {%- call statement('create_tmp_relation') -%}
      {{ create_temporary_view(source_relation, changed.fitting) }}
    {%- endcall -%}
    {%- if changed.statements -%}
      {%- do run_query('select max(hash(' ~ changed.fitted ~ ')) from ' ~ source_relation) -%}
    {%- endif -%}
  {%- endif -%}
  {%- for altered in changed.statements -%}
    {%- do run_query(altered) -%}
  {%- endfor -%}
  {%- do persist_constraints(target_relation, model) -%}
{% endmacro %}
