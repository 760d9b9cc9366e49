{#- dbt_utils asks `information_schema`, which Spark lacks: the catalog's listing says the same. #}
{% macro tapestry__get_tables_by_pattern_sql(schema_pattern, table_pattern, exclude='', database=none) %}
  {{ return(adapter.tables_like_sql(schema_pattern, table_pattern, exclude)) }}
{% endmacro %}
