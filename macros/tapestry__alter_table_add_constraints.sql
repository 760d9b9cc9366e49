{#- As dbt-spark's, but those that stand are left alone: a continuous model asks before each run. #}
{% macro tapestry__alter_table_add_constraints(relation, constraints) %}
  {%- set there = adapter.constraint_names(relation) -%}
  {%- for constraint in constraints if constraint.type == 'check' -%}
    {%- set name = constraint.name or local_md5(';' ~ constraint.expression ~ ';' ~ loop.index) -%}
    {%- if name | lower not in there -%}
      {%- call statement() -%}
        alter table {{ relation }} add constraint {{ adapter.name_sql(name) }} check ({{ constraint.expression }})
      {%- endcall -%}
    {%- endif -%}
  {%- endfor -%}
{% endmacro %}
