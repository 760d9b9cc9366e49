{#- dbt-spark's, for every file format; a description is text, whatever it holds. #}
{% macro tapestry__alter_column_comment(relation, column_dict) %}
  {%- for name, column in column_dict.items() -%}
    {%- do run_query(
      'alter table ' ~ relation ~ (' alter' if relation.is_iceberg else ' change') ~ ' column '
      ~ adapter.name_sql(name)
      ~ ' comment ' ~ adapter.literal(column['description'])) -%}
  {%- endfor -%}
{% endmacro %}
