{#- dbt-spark's; the schema as it can stand in SQL. #}
{% macro tapestry__list_relations_without_caching(relation) %}
  {%- call statement('list_relations_without_caching', fetch_result=True) -%}
    show table extended in {{ relation.without_identifier() }} like '*'
  {%- endcall -%}
  {{ return(load_result('list_relations_without_caching').table) }}
{% endmacro %}
