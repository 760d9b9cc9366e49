{#- dbt-spark's takes the delimiter for a regular expression, and fails behind the last part. -#}
{% macro tapestry__split_part(string_text, delimiter_text, part_number) -%}
  split_part({{ string_text }}, {{ delimiter_text }}, {{ part_number }})
{%- endmacro %}
