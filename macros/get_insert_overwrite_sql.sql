{#- dbt-spark's; a column that the query no longer has is NULL. A batch of a microbatch model takes the place of the rows
    of its time, whatever the table is partitioned by: whole partitions may hold rows of other batches, and a batch that
    has no rows any more would leave its old ones. Delta refuses rows of another time. #}
{% macro get_insert_overwrite_sql(source_relation, target_relation, existing_relation) %}
  {%- set batch = model.get('batch') if config.get('incremental_strategy') == 'microbatch' and existing_relation.is_delta -%}
  insert {{ 'into' if batch else 'overwrite' }} {% if not existing_relation.is_iceberg %}table {% endif %}{{ target_relation }}
  {% if batch -%}
    replace where {{ target_relation.within(config.get('event_time'), batch.event_time_start, batch.event_time_end) }}
  {%- elif not existing_relation.is_iceberg %}{{ partition_cols(label="partition") }}{% endif %}
  select {{ tapestry__columns_from(source_relation, target_relation) }} from {{ source_relation }}
{% endmacro %}
