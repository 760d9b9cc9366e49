{#- The columns as objects, as everywhere: dbt-spark's gives rows of DESCRIBE, in which no name is found. -#}
{% macro tapestry__get_columns_in_relation(relation) -%}
  {{ return(adapter.get_columns_in_relation(relation)) }}
{%- endmacro %}
