{#- dbt-spark's view, made when its rows are what is expected of them; descriptions are text. #}
{% macro tapestry__create_view_as(relation, sql) -%}
  {%- if adapter.has_expectations(model) -%}
    {%- do adapter.check_view(model, sql) -%}
  {%- endif -%}
  {%- set listed = [] -%}
  {%- if config.persist_column_docs() -%}
    {%- for name in get_columns_in_query(sql) -%}
      {%- set said = adapter.description_of(name, model.columns) -%}
      {%- do listed.append(adapter.quote(name) ~ (' comment ' ~ adapter.literal(said) if said else '')) -%}
    {%- endfor -%}
  {%- endif -%}
  create or replace view {{ relation }}
  {%- if listed %} ({{ listed | join(', ') }}){% endif %}
  {{ comment_clause() }}
  {{ tblproperties_clause() }}
  {%- if config.get('contract').enforced -%}
    {{ get_assert_columns_equivalent(sql) }}
  {%- endif %}
  as
    {{ sql }}
{%- endmacro %}
