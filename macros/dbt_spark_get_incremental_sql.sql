{#- dbt-spark's, which wants partitions of a microbatch model: on Delta a batch takes the place of the rows of its time. #}
{% macro dbt_spark_get_incremental_sql(strategy, source, target, existing, unique_key, incremental_predicates) %}
  {%- if strategy == 'append' -%}
    {{ get_insert_into_sql(source, target) }}
  {%- elif strategy == 'merge' -%}
    {{ get_merge_sql(target, source, unique_key, dest_columns=none, incremental_predicates=incremental_predicates) }}
  {%- elif strategy == 'microbatch' and not existing.is_delta and not config.get('partition_by') -%}
    {%- do exceptions.raise_compiler_error("incremental_strategy: microbatch wants file_format: delta, or a partition_by column that is of grain "
          ~ config.get('batch_size')) -%}
  {%- else -%}
    {{ get_insert_overwrite_sql(source, target, existing) }}
  {%- endif -%}
{% endmacro %}
