{#- dbt's two strategies; names of columns are read as everywhere (docs/adapter.md, "Names of columns"). -#}
{% macro snapshot_timestamp_strategy(node, snapshotted_rel, current_rel, model_config, target_exists) %}
  {%- set names = config.get('snapshot_table_column_names') or get_snapshot_table_column_names() -%}
  {%- set updated_at = adapter.columns_sql(config.get('updated_at'), node['compiled_code'])[0] -%}
  {%- set changed = '(' ~ snapshotted_rel ~ '.' ~ names.dbt_valid_from ~ ' < ' ~ current_rel ~ '.' ~ updated_at ~ ')' -%}
  {{ return(tapestry__snapshot_strategy(node, updated_at, changed)) }}
{% endmacro %}

{% macro snapshot_check_strategy(node, snapshotted_rel, current_rel, model_config, target_exists) %}
  {%- set updated_at = config.get('updated_at') -%}
  {%- set updated_at = adapter.columns_sql(updated_at, node['compiled_code'])[0] if updated_at else snapshot_get_time() -%}
  {%- set is_added, checked = snapshot_check_all_get_existing_columns(node, target_exists, config.get('check_cols')) -%}
  {%- set differences = [] -%}
  {%- for column in checked -%}
    {%- do differences.append('not (' ~ snapshotted_rel ~ '.' ~ column ~ ' <=> ' ~ current_rel ~ '.' ~ column ~ ')') -%}
  {%- endfor -%}
  {%- set changed = '(' ~ (get_true_sql() if is_added else differences | join(' or ') or 'false') ~ ')' -%}
  {{ return(tapestry__snapshot_strategy(node, updated_at, changed)) }}
{% endmacro %}

{#- What dbt's snapshots expect of a strategy. -#}
{% macro tapestry__snapshot_strategy(node, updated_at, row_changed) -%}
  {%- set given = config.get('unique_key') -%}
  {%- set keys = adapter.columns_sql(given, node['compiled_code']) -%}
  {%- set hard_deletes = adapter.get_hard_deletes_behavior(config) -%}
  {{ return({
    'unique_key': keys[0] if given is string else keys,
    'updated_at': updated_at,
    'row_changed': row_changed,
    'scd_id': snapshot_hash_arguments(api.Relation.scd_args(keys, updated_at)),
    'invalidate_hard_deletes': hard_deletes == 'invalidate',
    'hard_deletes': hard_deletes,
  }) }}
{%- endmacro %}
