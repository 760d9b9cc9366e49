{#- The unit of time that a part of a date names: any case, plural or not. An unknown one is an error
    here, for Spark's date_trunc gives NULL for it. -#}
{% macro tapestry__date_unit(macro, datepart) -%}
  {%- set given = (datepart | string | trim | lower).strip("'\"") -%}
  {%- set unit = given[:-1] if given.endswith('s') else given -%}
  {%- set units = ['year', 'quarter', 'month', 'week', 'day', 'hour', 'minute', 'second', 'millisecond', 'microsecond'] -%}
  {%- if unit not in units -%}
    {%- do exceptions.raise_compiler_error(
      macro ~ " knows no '" ~ datepart ~ "'; it takes " ~ units | join(', ')) -%}
  {%- endif -%}
  {{ return(unit) }}
{%- endmacro %}
