{#- A text whose quotes are escaped (escape_single_quotes, '' or \') as a literal of the same text: its
    backslashes stay, as they do on warehouses where a backslash means nothing in a literal. #}
{% macro tapestry__string_literal(value) -%}
{{ return(adapter.literal(adapter.unescaped(value))) }}
{%- endmacro %}
