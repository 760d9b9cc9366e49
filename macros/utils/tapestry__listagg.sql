{#- dbt-spark's leaves the order out. With a limit the elements travel in hexadecimal, so that the
    delimiter between them is no part of one; as in PostgreSQL, a NULL counts and is not shown. -#}
{% macro tapestry__listagg(measure, delimiter_text, order_by_clause, limit_num) -%}
  {%- set ordered = ' within group (' ~ order_by_clause ~ ')' if order_by_clause else '' -%}
  {%- if limit_num -%}
    {%- set distinct = 'distinct ' if (measure | trim | lower).startswith('distinct ') else '' -%}
    {%- set value = (measure | trim)[distinct | length:] -%}
    array_join(
      transform(
        slice(
          split(listagg({{ distinct }}coalesce(hex(cast({{ value }} as string)), '-'), ','){{ ordered }}, ','),
          1, {{ limit_num }}),
        element -> if(element = '-', null, decode(unhex(element), 'utf-8'))),
      {{ delimiter_text }})
  {%- else -%}
    listagg({{ measure }}, {{ delimiter_text }}){{ ordered }}
  {%- endif -%}
{%- endmacro %}
