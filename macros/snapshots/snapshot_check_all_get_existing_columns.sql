{#- Which of the columns to check the snapshot has, and whether one is new, which makes every row a
    changed one. dbt's own compares the names in their letters' cases: where the query writes one in
    another case than the table, every row would be changed on every run. -#}
{% macro snapshot_check_all_get_existing_columns(node, target_exists, check_cols_config) -%}
  {%- if not target_exists -%}
    {{ return((false, [])) }}
  {%- endif -%}
  {%- if check_cols_config == 'all' -%}
    {%- set checked = get_columns_in_query(node['compiled_code']) -%}
  {%- elif check_cols_config is sequence and check_cols_config is not string and check_cols_config -%}
    {%- set checked = get_columns_in_query(
      'select ' ~ adapter.columns_sql(check_cols_config, node['compiled_code']) | join(', ') ~ ' from (\n' ~ node['compiled_code'] ~ '\n) subq') -%}
  {%- else -%}
    {%- do exceptions.raise_compiler_error("Invalid value for 'check_cols': " ~ check_cols_config) -%}
  {%- endif -%}
  {%- set target = adapter.get_relation(database=node.database, schema=node.schema, identifier=node.alias) -%}
  {%- set existing = adapter.get_columns_in_relation(target) | map(attribute='name') | map('lower') | list -%}
  {%- set known, added = [], [] -%}
  {%- for name in checked -%}
    {%- do (known if name | lower in existing else added).append(adapter.quote(name)) -%}
  {%- endfor -%}
  {{ return((added | length > 0, known)) }}
{%- endmacro %}
