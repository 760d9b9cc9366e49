{#- dbt-spark's writes years before 1000 without their zeros. -#}
{% macro tapestry__date(year, month, day) -%}
  make_date({{ year }}, {{ month }}, {{ day }})
{%- endmacro %}
