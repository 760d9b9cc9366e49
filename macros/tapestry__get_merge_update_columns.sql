{#- dbt-spark's; the columns to be updated as they stand in SQL, or none: all of them. #}
{% macro tapestry__get_merge_update_columns(merge_update_columns, merge_exclude_columns, dest_columns) %}
  {%- if merge_update_columns and merge_exclude_columns -%}
    {{ exceptions.raise_compiler_error(
      'Model cannot specify merge_update_columns and merge_exclude_columns. Please update model to use only one config'
    ) }}
  {%- elif merge_update_columns -%}
    {{ return(adapter.merge_columns('merge_update_columns', merge_update_columns, dest_columns, this)) }}
  {%- elif merge_exclude_columns -%}
    {{ return(adapter.columns_without(merge_exclude_columns, dest_columns)) }}
  {%- endif -%}
  {{ return(none) }}
{% endmacro %}
