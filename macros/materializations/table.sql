{#- dbt-spark's table; the model's expectations are counted in its result. #}
{% materialization table, adapter='tapestry', supported_languages=['sql', 'python'] %}
  {%- set built = dbt.materialization_table_spark() -%}
  {%- do tapestry__finish_expectations() -%}
  {{ return(built) }}
{% endmaterialization %}
