{#- dbt-spark's table; the model's expectations are counted in its result. #}
{% materialization table, adapter='tapestry', supported_languages=['sql', 'python'] %}
  {#- Not called as a macro: dbt lets a Python model be submitted one call below a materialization only. #}
  {%- set built = dbt.materialization_table_spark.call_macro() -%}
  {%- do tapestry__finish_expectations() -%}
  {{ return(built) }}
{% endmaterialization %}
