{#- dbt-spark's; a column that the query no longer has is NULL. #}
{% macro get_insert_overwrite_sql(source_relation, target_relation, existing_relation) %}
  insert overwrite {% if not existing_relation.is_iceberg %}table {% endif %}{{ target_relation }}
  {% if not existing_relation.is_iceberg %}{{ partition_cols(label="partition") }}{% endif %}
  select {{ tapestry__columns_from(source_relation, target_relation) }} from {{ source_relation }}
{% endmacro %}
