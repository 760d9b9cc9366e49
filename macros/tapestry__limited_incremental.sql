{#- An incremental model under a command that limits its inputs: its query is read, and no hook runs, which may
    delete rows. The table that stands there, or none: then a view takes its place, which remembers nothing and
    which the next whole run replaces as it would have built the table. -#}
{% macro tapestry__limited_incremental() -%}
  {%- if model.language == 'sql' -%}
    {%- do adapter.analyse(compiled_code) -%}
    {%- do adapter.check_merge_keys(model, compiled_code) -%}
    {%- do tapestry__check_contract() -%}
  {%- endif -%}
  {%- set existing = load_cached_relation(this) -%}
  {{ return(existing if existing is not none and not existing.is_view else none) }}
{%- endmacro %}
