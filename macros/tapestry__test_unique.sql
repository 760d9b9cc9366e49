{#- dbt's; a column's name stands for the column, whatever it holds. #}
{% macro tapestry__test_unique(model, column_name) %}
  {{ return(default__test_unique(model, adapter.columns_sql(column_name, 'select * from ' ~ model)[0])) }}
{% endmacro %}
