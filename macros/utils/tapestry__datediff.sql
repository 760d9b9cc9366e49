{#- How many beginnings of a unit lie between two instants, as in PostgreSQL's version of this macro; a
    week begins on Sunday there, too. dbt-spark's counts whole months and quarters by averages, and rounds
    parts of an hour up. -#}
{% macro tapestry__datediff(first_date, second_date, datepart) -%}
  {%- set unit = tapestry__date_unit('datediff', datepart) -%}
  {%- set first, second = '(' ~ first_date ~ ')', '(' ~ second_date ~ ')' -%}
  {%- if unit == 'day' -%}
    cast(datediff({{ second }}, {{ first }}) as bigint)
  {%- elif unit in ['year', 'quarter', 'month', 'week'] -%}
    (({{ tapestry__calendar_number(unit, second) }}) - ({{ tapestry__calendar_number(unit, first) }}))
  {%- else -%}
    {#- Local times are counted as if each day had 24 hours, instants as they pass. -#}
    if(
      'timestamp_ntz' in (typeof({{ first }}), typeof({{ second }}))
      and typeof({{ first }}) in ('timestamp_ntz', 'date') and typeof({{ second }}) in ('timestamp_ntz', 'date'),
      ({{ tapestry__clock_number(unit, second) }}) - ({{ tapestry__clock_number(unit, first) }}),
      ({{ tapestry__instant_number(unit, second) }}) - ({{ tapestry__instant_number(unit, first) }}))
  {%- endif -%}
{%- endmacro %}

{#- The number of a date's year, quarter, month or week, counted from a fixed one. -#}
{% macro tapestry__calendar_number(unit, date) -%}
  {%- if unit == 'week' -%}
    {#- 1970-01-04 was a Sunday -#}
    cast(floor(datediff({{ date }}, date'1970-01-04') / 7) as bigint)
  {%- else -%}
    {%- set parts = {'year': 1, 'quarter': 4, 'month': 12} -%}
    cast(year({{ date }}) as bigint){% if unit != 'year' %} * {{ parts[unit] }} + {{ unit }}({{ date }}){% endif %}
  {%- endif -%}
{%- endmacro %}

{#- The number of a local time's hour, minute, … -#}
{% macro tapestry__clock_number(unit, time) -%}
  {{ tapestry__whole_units(unit,
    'datediff(' ~ time ~ ", date'1970-01-01') * 86400000000L + hour(" ~ time ~ ') * 3600000000L + minute(' ~ time
    ~ ') * 60000000L + cast(extract(second from ' ~ time ~ ') * 1000000 as bigint)') }}
{%- endmacro %}

{#- The number of an instant's hour, minute, …: the beginning is that of the session's time zone. -#}
{% macro tapestry__instant_number(unit, instant) -%}
  {{ tapestry__whole_units(unit, 'unix_micros(date_trunc(' ~ adapter.text(unit) ~ ', ' ~ instant ~ '))') }}
{%- endmacro %}

{#- Microseconds in whole units, rounded down. `/` is a division of DOUBLEs, which is wrong from the year 2255 on. -#}
{% macro tapestry__whole_units(unit, micros) -%}
  {%- set sizes = {'hour': 3600000000, 'minute': 60000000, 'second': 1000000, 'millisecond': 1000, 'microsecond': 1} -%}
  {%- set size = sizes[unit] ~ 'L' -%}
  ((({{ micros }}) - pmod({{ micros }}, {{ size }})) div {{ size }})
{%- endmacro %}
