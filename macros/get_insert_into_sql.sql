{#- dbt-spark's; a column that the query no longer has is NULL. #}
{% macro get_insert_into_sql(source_relation, target_relation) %}
  insert into table {{ target_relation }}
  select {{ tapestry__columns_from(source_relation, target_relation) }} from {{ source_relation }}
{% endmacro %}
