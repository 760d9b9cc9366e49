{#- Opened records match nothing, so that none is lost where an older one has its dbt_scd_id. The columns of
    the key are compared too: dbt-spark gave records of several keys (('a|b', 'c') and ('a', 'b|c')) one id. -#}
{% macro tapestry__snapshot_merge_sql(target, source, insert_cols) -%}
  {%- set names = config.get('snapshot_table_column_names') or get_snapshot_table_column_names() -%}
  {%- set keys = adapter.columns_sql(config.get('unique_key'), adapter.get_columns_in_relation(source)) -%}
  merge into {{ target }} as DBT_INTERNAL_DEST
  using {{ source }} as DBT_INTERNAL_SOURCE
  on DBT_INTERNAL_SOURCE.{{ names.dbt_scd_id }} = DBT_INTERNAL_DEST.{{ names.dbt_scd_id }}
    and DBT_INTERNAL_SOURCE.dbt_change_type <> 'insert'
    {%- for key in keys if key in insert_cols %}
    and DBT_INTERNAL_SOURCE.{{ key }} <=> DBT_INTERNAL_DEST.{{ key }}
    {%- endfor %}
  when matched and {{ tapestry__snapshot_is_current('DBT_INTERNAL_DEST.' ~ names.dbt_valid_to) }} then
    update set {{ names.dbt_valid_to }} = DBT_INTERNAL_SOURCE.{{ names.dbt_valid_to }}
  when not matched and DBT_INTERNAL_SOURCE.dbt_change_type = 'insert' then
    insert ({{ insert_cols | join(', ') }})
    values (DBT_INTERNAL_SOURCE.{{ insert_cols | join(', DBT_INTERNAL_SOURCE.') }})
{%- endmacro %}
