{#- dbt-spark's counts seconds: it loses fractions, and an interval such as `n - 1` is multiplied in part. -#}
{% macro tapestry__dateadd(datepart, interval, from_date_or_timestamp) -%}
  {%- set unit = tapestry__date_unit('dateadd', datepart) -%}
  timestampadd({{ unit }}, cast(({{ interval }}) as bigint), {{ from_date_or_timestamp }})
{%- endmacro %}
