{#- dbt-spark drops the table first; a Delta table is replaced in place and keeps its history. #}
{% macro tapestry__reset_csv_table(model, full_refresh, old_relation, agate_table) %}
  {{ return(create_csv_table(model, agate_table)) }}
{% endmacro %}
