{#- dbt-spark's; the column as it can stand in SQL. #}
{% macro tapestry__alter_column_type(relation, column_name, new_column_type) %}
  {%- call statement('alter_column_type') -%}
    alter table {{ relation }} alter column {{ adapter.name_sql(column_name) }} type {{ new_column_type }}
  {%- endcall -%}
{% endmacro %}
