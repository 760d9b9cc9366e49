{#- dbt's; a value is text, whatever it holds. #}
{% macro tapestry__test_accepted_values(model, column_name, values, quote=True) %}
  {%- set listed = [] -%}
  {%- for value in values -%}
    {%- do listed.append(adapter.text(value) if quote else value) -%}
  {%- endfor %}
with all_values as (
  select {{ column_name }} as value_field, count(*) as n_records
  from {{ model }}
  group by {{ column_name }}
)
select * from all_values
where value_field not in ({{ listed | join(', ') }})
{% endmacro %}
