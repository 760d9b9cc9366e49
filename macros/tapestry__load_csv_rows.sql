{#- The rows came with the table: see tapestry__create_csv_table. #}
{% macro tapestry__load_csv_rows(model, agate_table) %}
  {{ return('-- ' ~ (agate_table.rows | length) ~ ' rows, written with the table') }}
{% endmacro %}
