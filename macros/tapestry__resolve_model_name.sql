{#- The table that a Python model reads; dbt's writes a limited one as a subquery, which is no table's name. -#}
{% macro tapestry__resolve_model_name(input_model_name) -%}
  {%- set limited = input_model_name.render is defined and input_model_name.render is callable -%}
  {{ return(default__resolve_model_name(input_model_name.render() if limited else input_model_name)) }}
{%- endmacro %}
