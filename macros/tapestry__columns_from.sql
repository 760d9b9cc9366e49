{#- The columns of a table, each from a query's rows; NULL where those no longer have it. #}
{% macro tapestry__columns_from(source_relation, target_relation) %}
  {%- set there = adapter.get_columns_in_relation(target_relation) -%}
  {%- set given = adapter.get_columns_in_relation(source_relation) | map(attribute='name') | map('lower') | list -%}
  {%- set listed = [] -%}
  {%- for column in there -%}
    {%- set lost = column.name | lower not in given -%}
    {%- do listed.append('cast(null as ' ~ column.data_type ~ ') as ' ~ column.quoted if lost else column.quoted) -%}
  {%- endfor -%}
  {{ return(listed | join(', ')) }}
{% endmacro %}
