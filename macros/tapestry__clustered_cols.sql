{#- dbt-spark's, and Delta's liquid clustering; a column's name stands for the column, whatever it holds. #}
{% macro tapestry__clustered_cols(label, required=false) %}
  {%- set named = config.get('clustered_by', validator=validation.any[list, basestring]) -%}
  {%- set buckets = config.get('buckets', validator=validation.any[int]) -%}
  {%- if named is not none and buckets is not none %}
    {{ label }} ({{ tapestry__layout_columns(named) | join(', ') }}) into {{ buckets }} buckets
  {%- endif %}
  {%- set liquid = config.get('liquid_clustered_by', validator=validation.any[list, basestring]) -%}
  {%- if liquid is not none %}
    cluster by ({{ tapestry__layout_columns(liquid, exactly=true) | join(', ') }})
  {%- endif %}
{%- endmacro %}
