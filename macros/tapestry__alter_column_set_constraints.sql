{#- NOT NULL as a check: open-source Delta cannot set it on a column of a table that is there, and
    a table made from a query has all its columns nullable. #}
{% macro tapestry__alter_column_set_constraints(relation, column_dict) %}
  {%- set there = adapter.constraint_names(relation) -%}
  {%- for name, column in column_dict.items() -%}
    {%- for constraint in column['constraints'] -%}
      {%- if constraint.type != 'not_null' -%}
        {%- do exceptions.warn('Invalid constraint for column ' ~ name ~ '. Only `not_null` is supported.') -%}
      {%- elif 'not_null_' ~ local_md5(name) not in there -%}
        {%- call statement() -%}
          alter table {{ relation }} add constraint not_null_{{ local_md5(name) }}
          check ({{ adapter.name_sql(name) }} is not null)
        {%- endcall -%}
      {%- endif -%}
    {%- endfor -%}
  {%- endfor -%}
{% endmacro %}
