{#- Open-source Delta clones into no table that has rows, `or replace` notwithstanding: a destination
    that is there already goes first. #}
{% macro tapestry__create_or_replace_clone(this_relation, defer_relation) %}
  {%- if load_cached_relation(this_relation) is not none -%}
    {%- do adapter.drop_relation(this_relation) -%}
  {%- endif -%}
  create table {{ this_relation }} shallow clone {{ defer_relation }}
{% endmacro %}
