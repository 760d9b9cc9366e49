{#- As tapestry__get_relations_by_pattern; the schema may be a pattern, as in dbt_utils. #}
{% macro tapestry__get_relations_by_prefix(schema, prefix, exclude='', database=none) %}
  {{ return(adapter.relations_like(schema, prefix ~ '%', exclude)) }}
{% endmacro %}
