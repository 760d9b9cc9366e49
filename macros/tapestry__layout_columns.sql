{#- What partition_by, clustered_by or liquid_clustered_by names: columns of a seed's file, of a query, or (a
    Python model, whose query nobody knows) of the table that is there. Delta clusters by names in the letters
    of the columns only (exactly). #}
{% macro tapestry__layout_columns(named, exactly=false) %}
  {%- if model.resource_type == 'seed' -%}
    {%- set of = load_agate_table().column_names | list -%}
  {%- elif model.language == 'python' -%}
    {%- set of = adapter.get_columns_in_relation(this) -%}
  {%- else -%}
    {%- set query = adapter.without_qualify(model.compiled_code) -%}
    {%- set of = adapter.names_of_query(query) if exactly else query -%}
  {%- endif -%}
  {{ return(adapter.columns_sql(named, of)) }}
{% endmacro %}
