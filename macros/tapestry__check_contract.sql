{#- What a contract says of the query of this model; Spark analyses it, which has no QUALIFY. -#}
{% macro tapestry__check_contract() -%}
  {%- if config.get('contract').enforced -%}
    {%- set analysed = adapter.without_qualify(compiled_code) -%}
    {%- do get_assert_columns_equivalent(analysed) -%}
    {%- do adapter.check_new_table(model, analysed) -%}
  {%- endif -%}
{%- endmacro %}
