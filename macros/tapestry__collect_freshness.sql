{#- dbt's; loaded_at_field may be a column's name, whatever it holds. #}
{% macro tapestry__collect_freshness(source, loaded_at_field, filter) %}
  {%- set column = adapter.columns_sql(loaded_at_field, 'select * from ' ~ source)[0] -%}
  {{ return(default__collect_freshness(source, column, filter)) }}
{% endmacro %}
