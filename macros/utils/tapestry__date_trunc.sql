{#- An unknown unit is an error: Spark's date_trunc gives NULL. -#}
{% macro tapestry__date_trunc(datepart, date) -%}
  date_trunc({{ adapter.text(tapestry__date_unit('date_trunc', datepart)) }}, {{ date }})
{%- endmacro %}
