{#- dbt-spark's view of the changes, which its materialization asks for by this name. A snapshot that
    keeps deletions from now on gets the column for them first: NULL there is no deletion. -#}
{% macro spark_build_snapshot_staging_table(strategy, sql, target_relation) -%}
  {%- set names = config.get('snapshot_table_column_names') or get_snapshot_table_column_names() -%}
  {%- set existing = adapter.get_columns_in_relation(target_relation) | map(attribute='name') | map('lower') | list -%}
  {%- if strategy.hard_deletes == 'new_record' and names.dbt_is_deleted | lower not in existing -%}
    {%- do run_query('alter table ' ~ target_relation ~ ' add columns (' ~ names.dbt_is_deleted ~ ' string)') -%}
  {%- endif -%}
  {%- set staging = api.Relation.create(
    schema=target_relation.schema, identifier=target_relation.identifier ~ '__dbt_tmp', type='view') -%}
  {%- call statement('build_snapshot_staging_relation') -%}
    {{ create_view_as(staging, snapshot_staging_table(strategy, sql, target_relation)) }}
  {%- endcall -%}
  {{ return(staging) }}
{%- endmacro %}
