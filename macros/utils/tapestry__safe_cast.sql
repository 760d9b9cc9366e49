{#- NULL where the value cannot be cast. -#}
{% macro tapestry__safe_cast(field, type) -%}
  try_cast({{ field }} as {{ type }})
{%- endmacro %}
