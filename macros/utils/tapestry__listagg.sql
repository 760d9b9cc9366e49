{#- dbt-spark's leaves the order out. With a limit the elements travel in hexadecimal, so that the
    delimiter between them is no part of one; as in PostgreSQL, a NULL counts and is not shown. -#}
{% macro tapestry__listagg(measure, delimiter_text, order_by_clause, limit_num) -%}
  {%- set ordered = ' within group (' ~ order_by_clause ~ ')' if order_by_clause else '' -%}
  {%- set distinct = (measure | trim | lower).startswith('distinct ') -%}
  {%- if limit_num and distinct -%}
    {%- set value = (measure | trim)[9:] | trim -%}
    {%- set order = (order_by_clause or '') | lower | replace('\n', ' ') | trim -%}
    {%- set by = order[8:].strip() if order.startswith('order by') else order -%}
    {%- if by not in ['', value | lower, value | lower ~ ' asc', value | lower ~ ' desc'] -%}
      {%- do exceptions.raise_compiler_error(
        'listagg: distinct values are ordered by themselves (order by ' ~ value ~ ' [asc|desc]), not by: ' ~ order_by_clause) -%}
    {%- endif -%}
    array_join(
      slice(sort_array(collect_set({{ value }}), {{ 'false' if by.endswith(' desc') else 'true' }}), 1, {{ limit_num }}),
      {{ delimiter_text }})
  {%- elif limit_num -%}
    array_join(
      transform(
        slice(
          split(listagg(coalesce(hex(cast({{ measure }} as string)), '-'), ','){{ ordered }}, ','),
          1, {{ limit_num }}),
        element -> if(element = '-', null, decode(unhex(element), 'utf-8'))),
      {{ delimiter_text }})
  {%- else -%}
    listagg({{ measure }}, {{ delimiter_text }}){{ ordered }}
  {%- endif -%}
{%- endmacro %}
