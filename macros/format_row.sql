{#- A row of a unit test: dbt's own macro casts each value, which cuts some and makes NULL of others. It is no
    macro that dbt dispatches; an adapter's comes before dbt's. #}
{% macro format_row(row, column_name_to_data_types) %}
  {{ return(adapter.unit_test_row(row, column_name_to_data_types, model)) }}
{% endmacro %}
