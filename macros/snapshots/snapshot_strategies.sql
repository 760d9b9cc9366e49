{#- dbt's two strategies; names of columns are read as everywhere (docs/reference/adapter.md, "Names of columns"). -#}
{% macro snapshot_timestamp_strategy(node, snapshotted_rel, current_rel, model_config, target_exists) %}
  {%- set names = config.get('snapshot_table_column_names') or get_snapshot_table_column_names() -%}
  {%- do adapter.snapshot_compared(node, tapestry__snapshot_columns(node, target_exists), names, none) -%}
  {%- set updated_at = adapter.columns_sql(config.get('updated_at'), node['compiled_code'])[0] -%}
  {#- Its value, which may be an expression's, has this name in the rows of the query. What was recorded of the row
      is compared, not when its record begins: that of a row that came back begins with a run. NULL is before all. -#}
  {%- set recorded, given = snapshotted_rel ~ '.' ~ names.dbt_updated_at, current_rel ~ '.dbt_internal_updated_at' -%}
  {%- set changed = '(' ~ recorded ~ ' < ' ~ given ~ ' or (' ~ recorded ~ ' is null and ' ~ given ~ ' is not null))' -%}
  {{ return(tapestry__snapshot_strategy(node, updated_at, changed, [])) }}
{% endmacro %}

{% macro snapshot_check_strategy(node, snapshotted_rel, current_rel, model_config, target_exists) %}
  {%- set names = config.get('snapshot_table_column_names') or get_snapshot_table_column_names() -%}
  {%- set updated_at = config.get('updated_at') -%}
  {%- set updated_at = adapter.columns_sql(updated_at, node['compiled_code'])[0] if updated_at else snapshot_get_time() -%}
  {%- set check_cols = config.get('check_cols') -%}
  {%- if check_cols != 'all' and (check_cols is string or check_cols is not sequence or not check_cols) -%}
    {%- do exceptions.raise_compiler_error("Invalid value for 'check_cols': " ~ check_cols) -%}
  {%- endif -%}
  {%- set compared = adapter.snapshot_compared(node, tapestry__snapshot_columns(node, target_exists), names, check_cols) -%}
  {%- set differences, expressions, added = [], [], [] -%}
  {%- for one in compared -%}
    {%- if one.added -%}
      {%- do added.append(one.name) -%}
    {%- else -%}
      {%- if not one.name -%}{%- do expressions.append(one.sql) -%}{%- endif -%}
      {%- set column = one.name or 'dbt_internal_check_' ~ expressions | length -%}
      {%- set given = current_rel ~ '.' ~ column -%}
      {%- set given = 'cast(' ~ given ~ ' as ' ~ one.type ~ ')' if one.type else given -%}
      {%- do differences.append('not (' ~ snapshotted_rel ~ '.' ~ column ~ ' <=> ' ~ given ~ ')') -%}
    {%- endif -%}
  {%- endfor -%}
  {#- A new column makes every row a changed one, as in dbt. -#}
  {%- set changed = '(' ~ (get_true_sql() if added else differences | join(' or ') or 'false') ~ ')' -%}
  {{ return(tapestry__snapshot_strategy(node, updated_at, changed, expressions)) }}
{% endmacro %}

{#- What dbt's snapshots expect of a strategy, and the expressions that row_changed compares. -#}
{% macro tapestry__snapshot_strategy(node, updated_at, row_changed, expressions) -%}
  {%- set given = config.get('unique_key') -%}
  {%- set keys = adapter.columns_sql(given, node['compiled_code']) -%}
  {%- set hard_deletes = adapter.get_hard_deletes_behavior(config) -%}
  {%- set parts = [] -%}
  {%- for key in keys -%}
    {#- dbt puts | between the parts and '' for NULL: other keys may look the same then. -#}
    {%- do parts.append("coalesce(replace(replace(cast(" ~ key ~ " as string), '~', '~t'), '|', '~p'), '~n')") -%}
  {%- endfor -%}
  {{ return({
    'unique_key': keys[0] if given is string else keys,
    'updated_at': updated_at,
    'row_changed': row_changed,
    'expressions': expressions,
    'scd_id': snapshot_hash_arguments(api.Relation.scd_args(parts, updated_at)),
    'invalidate_hard_deletes': hard_deletes == 'invalidate',
    'hard_deletes': hard_deletes,
  }) }}
{%- endmacro %}

{#- The columns that the snapshot's table has, none if it is not there. -#}
{% macro tapestry__snapshot_columns(node, target_exists) -%}
  {%- if not target_exists -%}{{ return(none) }}{%- endif -%}
  {%- set target = adapter.get_relation(database=node.database, schema=node.schema, identifier=node.alias) -%}
  {{ return(adapter.get_columns_in_relation(target)) }}
{%- endmacro %}
