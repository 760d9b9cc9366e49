{#- Open-source Delta clones into no table that has rows, `or replace` notwithstanding: a destination that is there
    already goes first, once another clone has shown that one can be made. To Spark, names in either case are one. #}
{% macro tapestry__create_or_replace_clone(this_relation, defer_relation) %}
  {%- if this_relation.render() | lower == defer_relation.render() | lower -%}
    {%- do exceptions.raise_compiler_error('dbt clone: ' ~ this_relation ~ ' is itself what --state names to clone from ('
          ~ defer_relation ~ '); nothing was written. Give the --state of another schema') -%}
  {%- endif -%}
  {%- if load_cached_relation(this_relation) is not none -%}
    {%- set trial = this_relation.incorporate(path={'identifier': this_relation.identifier ~ '__dbt_tmp'}) -%}
    {%- do run_query('drop table if exists ' ~ trial) -%}
    {%- do run_query('create table ' ~ trial ~ ' shallow clone ' ~ defer_relation) -%}
    {%- do run_query('drop table ' ~ trial) -%}
    {%- do adapter.drop_relation(this_relation) -%}
  {%- endif -%}
  create table {{ this_relation }} shallow clone {{ defer_relation }}
{% endmacro %}
