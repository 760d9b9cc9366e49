{#- dbt's; a value is text, whatever it holds, and a column's name stands for the column. #}
{% macro tapestry__test_accepted_values(model, column_name, values, quote=True) %}
  {%- set listed = [] -%}
  {%- for value in values -%}
    {%- do listed.append(adapter.text(value) if quote else value) -%}
  {%- endfor %}
  {%- set column = adapter.columns_sql(column_name, 'select * from ' ~ model)[0] %}
with all_values as (
  select {{ column }} as value_field, count(*) as n_records
  from {{ model }}
  group by {{ column }}
)
select * from all_values
where value_field not in ({{ listed | join(', ') }})
{% endmacro %}
