{#- A snapshot under a command that limits its inputs: what is not read would be taken for deleted. Its statement is
    read by Spark, and no hook runs. Where there is no table one without records is made, to which the next whole
    run gives the records that it would have begun with. -#}
{% macro tapestry__limited_snapshot(option) -%}
  {%- set there, target = get_or_create_relation(database=none, schema=model.schema, identifier=model.alias, type='table') -%}
  {%- if not target.is_table -%}
    {%- do exceptions.relation_wrong_type(target, 'table') -%}
  {%- endif -%}
  {%- set strategy = strategy_dispatch(config.get('strategy'))(model, 'snapshotted_data', 'source_data', model.config, there) -%}
  {%- if there -%}
    {%- set names = config.get('snapshot_table_column_names') or get_snapshot_table_column_names() -%}
    {%- do adapter.valid_snapshot_target(target, names) -%}
    {%- set existing = adapter.get_columns_in_relation(target) | map(attribute='name') | map('lower') | list -%}
    {#- A whole run adds the column for deletions first. -#}
    {%- if names.dbt_is_deleted | lower not in existing -%}{%- do strategy.update({'hard_deletes': 'ignore'}) -%}{%- endif -%}
    {%- do adapter.analyse(snapshot_staging_table(strategy, model.compiled_code, target)) -%}
  {%- else -%}
    {%- set records = build_snapshot_table(strategy, model.compiled_code) -%}
    {%- call statement('main') -%}
      {{ create_table_as(False, target, 'select * from (\n' ~ records ~ '\n) where false') }}
    {%- endcall -%}
  {%- endif -%}
  {%- do store_result('main', response=adapter.limited_response(option, '' if there else 'an empty table')) -%}
  {{ return({'relations': [target]}) }}
{%- endmacro %}
