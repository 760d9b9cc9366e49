{#- What partition_by or clustered_by names: columns of a seed's file, of a query, or (a Python
    model, whose query nobody knows) of the table that is there. #}
{% macro tapestry__layout_columns(named) %}
  {%- if model.resource_type == 'seed' -%}
    {%- set of = load_agate_table().column_names | list -%}
  {%- elif model.language == 'python' -%}
    {%- set of = adapter.get_columns_in_relation(this) -%}
  {%- else -%}
    {%- set of = model.compiled_code -%}
  {%- endif -%}
  {{ return(adapter.columns_sql(named, of)) }}
{% endmacro %}
