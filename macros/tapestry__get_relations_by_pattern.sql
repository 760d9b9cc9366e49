{#- dbt_utils' own asks `information_schema` and gives relations the target's database: Spark has neither. #}
{% macro tapestry__get_relations_by_pattern(schema_pattern, table_pattern, exclude='', database=none) %}
  {{ return(adapter.relations_like(schema_pattern, table_pattern, exclude)) }}
{% endmacro %}
