{#- dbt-spark's; a column's name stands for the column, whatever it holds. #}
{% macro tapestry__partition_cols(label, required=false) %}
  {%- set named = config.get('partition_by', validator=validation.any[list, basestring]) -%}
  {%- if named is not none %}
    {{ label }} ({{ tapestry__layout_columns(named) | join(', ') }})
  {%- endif %}
{%- endmacro %}
