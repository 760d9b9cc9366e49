{#- NULL where the value cannot be cast. In the rows of a unit test such a value is its author's mistake,
    and an error; a value of a nested type, in quotes there, is an expression of SQL. -#}
{% macro tapestry__safe_cast(field, type) -%}
  {%- set text = field | string | trim -%}
  {%- set nested = (type | lower | trim).startswith(('struct', 'array', 'map')) -%}
  {%- set given = model.resource_type == 'unit_test' or 'get_fixture_sql(' in (model.raw_code or '') -%}
  {%- if nested -%}
    {%- set quoted = text | length > 1 and text[0] == text[-1] and text[0] in '\'"' -%}
    {{ 'cast' if given else 'try_cast' }}({{ adapter.outside_literal(text[1:-1]) if quoted else text }} as {{ type }})
  {%- elif given and text | lower != 'null' -%}
    coalesce(try_cast({{ text }} as {{ type }}), raise_error({{ adapter.text('a unit test gives ' ~ text ~ ', which is no ' ~ type) }}))
  {%- else -%}
    try_cast({{ text }} as {{ type }})
  {%- endif -%}
{%- endmacro %}
