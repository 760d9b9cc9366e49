{#- dbt-spark's, for the relation too, and only what changed: each description is a commit. #}
{% macro tapestry__persist_docs(relation, model, for_relation, for_columns) -%}
  {%- set on_relation = for_relation and config.persist_relation_docs() -%}
  {%- set on_columns = for_columns and config.persist_column_docs() and model.columns -%}
  {%- if on_relation or on_columns -%}
    {%- set changed = adapter.other_descriptions(
          relation, model.description if on_relation else none, model.columns if on_columns else {}
        ) -%}
    {%- if on_columns -%}
      {%- do validate_doc_columns(relation, model.columns, changed['names']) -%}
    {%- endif -%}
    {%- if changed['relation'] -%}
      {%- do run_query(alter_relation_comment(relation, model.description)) -%}
    {%- endif -%}
    {%- do alter_column_comment(relation, changed['columns']) -%}
  {%- endif -%}
{%- endmacro %}
