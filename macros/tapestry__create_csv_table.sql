{#- A seed in one commit of one table's history: who compares versions of it sees old rows or new. A cell that
    does not fit is an error before that, and before a table that cannot be replaced in place is dropped.
    With `--empty`, its columns without rows. #}
{% macro tapestry__create_csv_table(model, agate_table) %}
  {%- set views = [] -%}
  {%- set selects = adapter.seed_statements(
        agate_table, config.get('column_types') or {}, config.get('quote_columns'), model
      ) -%}
  {%- for select in selects -%}
    {%- set view = api.Relation.create(identifier='dbt_seed_rows_' ~ loop.index0) -%}
    {%- call statement('_') -%}
      {{ create_temporary_view(view, select) }}
    {%- endcall -%}
    {%- do views.append('select * from ' ~ view ~ (' where false' if flags.EMPTY else '')) -%}
  {%- endfor -%}
  {%- set old_relation = load_cached_relation(this) -%}
  {%- if old_relation and not (old_relation.is_delta and config.get('file_format') == 'delta') -%}
    {%- do adapter.drop_relation(old_relation) -%}
  {%- endif -%}
  {%- set sql = create_table_as(False, this, views | join(' union all ')) -%}
  {%- call statement('_') -%}
    {{ sql }}
  {%- endcall -%}
  {{ return(sql) }}
{% endmacro %}
