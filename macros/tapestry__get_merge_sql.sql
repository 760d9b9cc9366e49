{#- dbt-spark's; keys are columns, whatever their names hold. Delta cannot read the `*` of a merge
    where a name has a backtick, or where the query no longer has a column of the table: they are listed. #}
{% macro tapestry__get_merge_sql(target, source, unique_key, dest_columns, incremental_predicates) %}
  {%- set there = adapter.get_columns_in_relation(target) -%}
  {%- set given = adapter.get_columns_in_relation(source) | map(attribute='name') | map('lower') | list -%}
  {%- set both = [] -%}
  {%- for column in there if column.name | lower in given -%}{%- do both.append(column) -%}{%- endfor -%}
  {%- set keys = adapter.merge_columns('unique_key', unique_key, both, target) -%}
  {%- set every = adapter.columns_for_star(both, there) -%}
  {%- if not every -%}
    {{ return(spark__get_merge_sql(target, source, keys, dest_columns, incremental_predicates)) }}
  {%- endif -%}
  {%- set predicates = (incremental_predicates or []) | list -%}
  {%- for key in keys -%}
    {%- do predicates.append('DBT_INTERNAL_SOURCE.' ~ key ~ ' = DBT_INTERNAL_DEST.' ~ key) -%}
  {%- endfor -%}
  {%- set updated = get_merge_update_columns(config.get('merge_update_columns'), config.get('merge_exclude_columns'), both) %}
  merge into {{ target }} as DBT_INTERNAL_DEST
    using {{ source }} as DBT_INTERNAL_SOURCE
    on {{ predicates | join(' and ') or 'FALSE' }}
    when matched then update set
      {%- for column in updated or every %}
      {{ column }} = DBT_INTERNAL_SOURCE.{{ column }}{{ ',' if not loop.last }}
      {%- endfor %}
    when not matched then insert ({{ every | join(', ') }})
      values (
      {%- for column in every %}DBT_INTERNAL_SOURCE.{{ column }}{{ ', ' if not loop.last }}{% endfor -%}
      )
{% endmacro %}
