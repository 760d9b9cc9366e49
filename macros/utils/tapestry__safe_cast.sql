{#- NULL where the value cannot be cast; dbt-spark's fails. A value that does not fit in a unit test is a
    mistake of its author, and fails. A value of a nested type in quotes is an expression of SQL. -#}
{% macro tapestry__safe_cast(field, type) -%}
  {%- set text = field | string | trim -%}
  {%- set nested = (type | lower | trim).startswith(('struct', 'array', 'map')) -%}
  {%- set strict = model.resource_type == 'unit_test' or 'get_fixture_sql(' in (model.raw_code or '') -%}
  {%- if nested and text | length > 1 and text[0] == text[-1] and text[0] in '\'"' -%}
    {%- set text = adapter.outside_literal(text[1:-1]) -%}
  {%- endif -%}
  {{ 'cast' if strict else 'try_cast' }}({{ text }} as {{ type }})
{%- endmacro %}
